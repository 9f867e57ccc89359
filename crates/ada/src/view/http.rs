//! Requests and answers.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::assets;
use super::guard::{self, Said};
use super::parameters::Parameters;
use super::routes::{self, Answer, Failure};
use super::site::Site;
use crate::token::Token;

/// A client has so long to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a request's body: a note.
const MOST_BODY: usize = 64 << 10;

/// What each answer says beside its content: nothing is kept, nothing is guessed, nobody else may show or read it.
const HEADERS: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Nobody may put the page into a frame …
const IN_NO_FRAME: [(&str, &str); 2] = [
    ("x-frame-options", "DENY"),
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

/// … but a page of the same server, where it shows two sessions.
const IN_OWN_FRAMES: [(&str, &str); 2] = [
    ("x-frame-options", "SAMEORIGIN"),
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    ),
];

struct Server {
    site: Site,
    port: u16,
    token: Token,
}

/// What the server runs on: one thread for requests, few for what takes longer.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).max_blocking_threads(4).enable_all().build()
}

/// Serves until the process is ended. `ready` hears of the page's address.
pub(super) async fn serve(site: Site, port: u16, token: Token, ready: impl FnOnce(&str)) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener =
        listener.with_context(|| format!("cannot listen on port {port}; another one may be free (0 takes one)"))?;
    let address: SocketAddr = listener.local_addr().context("the listener has no address")?;
    ready(&format!("http://{address}{}?token={token}", site.page()));
    let server = Arc::new(Server { site, port: address.port(), token });
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many open files, or a connection that was gone again: others may do better.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let server = server.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(server.guarded(request).await) }
            });
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(64 << 10).half_close(true);
            // A client that breaks its connection, or speaks something else, ends that, and nothing else.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Server {
    /// An answer, and who may show it in a frame.
    async fn guarded(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let mut response = self.answer(request).await;
        let frames = if self.site.difference().is_some() { IN_OWN_FRAMES } else { IN_NO_FRAME };
        put_headers(&mut response, &frames);
        response
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let is_kept = request.method() == Method::PUT;
        if !is_kept && request.method() != Method::GET && request.method() != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered, and PUT of a note\n");
        }
        let path = request.uri().path();
        let Some(parameters) = Parameters::parse(request.uri().query().unwrap_or_default()) else {
            return text(StatusCode::BAD_REQUEST, "the parameters are not encoded as they should be\n");
        };
        // A host that the request line names counts as the header does.
        let named = request.uri().authority().map(|it| it.as_str());
        let headers = request.headers();
        let said = Said {
            host: named.or_else(|| header(headers, "host")),
            origin: header(headers, "origin"),
            fetch_site: header(headers, "sec-fetch-site"),
            is_visit: self.site.has_page(path) && header(headers, "sec-fetch-dest") == Some("document"),
            // A form of another page can have parameters, but no such header.
            token: header(headers, "x-ada-token").or_else(|| parameters.get("token").filter(|_| !is_kept)),
        };
        let is_public = !is_kept && !self.site.has_page(path) && assets::find(path).is_some();
        if let Err(refusal) = guard::check(&said, self.port, &self.token, !is_public) {
            return text(StatusCode::FORBIDDEN, refusal.words());
        }
        if let Some(asset) = assets::find(path).filter(|_| !is_kept) {
            return respond(StatusCode::OK, asset.kind, Bytes::from_static(asset.bytes.as_bytes()));
        }
        let path = path.to_owned();
        let answer = if is_kept {
            match Limited::new(request.into_body(), MOST_BODY).collect().await {
                Ok(body) => routes::keep(&self.site, &path, &parameters, &body.to_bytes()).await,
                Err(_) => Err(Failure::Wrong("that is too long for a note".into())),
            }
        } else {
            routes::answer(&self.site, &path, parameters).await
        };
        match answer {
            Ok(Answer::Json(json)) => respond(StatusCode::OK, "application/json", json.to_string().into()),
            Ok(Answer::Binary(bytes)) => respond(StatusCode::OK, "application/octet-stream", bytes.into()),
            Err(Failure::Missing) => text(StatusCode::NOT_FOUND, "there is nothing here\n"),
            Err(Failure::Wrong(words)) => text(StatusCode::BAD_REQUEST, &format!("{words}\n")),
            Err(Failure::Failed(words)) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{words}\n")),
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    // What is no text cannot be right, and must not count as absent.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn text(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", words.to_owned().into())
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    put_headers(&mut response, &HEADERS);
    response
}

fn put_headers(response: &mut Response<Full<Bytes>>, them: &[(&'static str, &'static str)]) {
    for &(name, value) in them {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}
