//! The same over HTTP, on the loopback interface only.
//!
//! Every user of the machine can reach that, and web pages can. So a request needs a token, must name the loopback
//! interface as its host, and must not come from a page.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::server::Server;
use super::tool_context::ToolContext;
use crate::session_thread::SessionThread;
use crate::token::Token;

/// Serves clients until the process is ended. `ready` hears of the address.
pub(super) async fn serve(
    thread: SessionThread<ToolContext>,
    allows_record: bool,
    port: u16,
    token: Token,
    ready: impl FnOnce(SocketAddr, &Token),
) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener =
        listener.with_context(|| format!("cannot listen on port {port}; another one may be free (0 takes one)"))?;
    ready(listener.local_addr().context("the listener has no address")?, &token);
    let token = Arc::new(token);
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(Server::new(thread.clone(), allows_record)),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept connections")?;
        let (service, token) = (service.clone(), token.clone());
        tokio::spawn(async move {
            let guarded = service_fn(|request: Request<Incoming>| {
                let service = service.clone();
                let knows = knows_token(request.headers(), &token);
                async move {
                    Ok::<_, Infallible>(match knows {
                        true => service.handle(request).await,
                        false => refusal().map(BodyExt::boxed),
                    })
                }
            });
            let builder = Builder::new(TokioExecutor::new());
            // A client that breaks its connection ends that, and nothing else.
            let _ = builder.serve_connection(TokioIo::new(stream), guarded).await;
        });
    }
}

fn knows_token(headers: &HeaderMap, token: &Token) -> bool {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| token.is(given))
}

fn refusal() -> Response<Full<Bytes>> {
    let words = "the header `Authorization: Bearer TOKEN` is needed, with the token that `ada mcp` printed\n";
    let mut response = Response::new(Full::new(Bytes::from_static(words.as_bytes())));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
