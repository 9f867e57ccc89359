//! The same over HTTP, on the loopback interface only.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::server::Server;
use super::tool_context::ToolContext;
use crate::session_thread::SessionThread;

/// Serves clients until the process is ended. `ready` hears of the address.
pub(super) async fn serve(
    thread: SessionThread<ToolContext>,
    allows_record: bool,
    port: u16,
    ready: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener =
        listener.with_context(|| format!("cannot listen on port {port}; another one may be free (0 takes one)"))?;
    ready(listener.local_addr().context("the listener has no address")?);
    // Web pages can reach loopback too: only requests that name it as their host are answered, and none that come from
    // a page.
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(Server::new(thread.clone(), allows_record)),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let service = TowerToHyperService::new(service);
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept connections")?;
        let service = service.clone();
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            // A client that breaks its connection ends that, and nothing else.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
