//! An OpenTelemetry collector at an address: what is written goes there, a request for each flush.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use ada_export::rejected_spans;
use anyhow::{Context, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// Where collectors take spans, unless the address says more.
const DEFAULT_PATH: &str = "/v1/traces";
const DEFAULT_PORT: u16 = 4318;
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const MAX_ANSWER: usize = 64 << 10;
const ATTEMPTS: u32 = 5;

pub(super) struct Collector {
    address: Uri,
    runtime: Runtime,
    request: Vec<u8>,
}

/// What a collector said.
enum Answer {
    Taken,
    /// It asks for a new attempt, perhaps after some time.
    Later(StatusCode, Option<Duration>),
}

impl Collector {
    /// Whether an output is an address and no file.
    pub(super) fn is_address(output: &Path) -> bool {
        output.to_str().is_some_and(|text| text.starts_with("http://") || text.starts_with("https://"))
    }

    /// Nothing is sent yet.
    pub(super) fn new(address: &Path) -> anyhow::Result<Self> {
        let text = address.to_str().context("an address is text")?;
        let address: Uri = text.parse().with_context(|| format!("{text} is not a valid address"))?;
        if address.scheme_str() != Some("http") {
            bail!("{text}: ada sends over http only; a collector on this machine can pass spans on by https");
        }
        ensure!(address.host().is_some_and(|host| !host.is_empty()), "{text} names no host");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { address, runtime, request: Vec::new() })
    }

    fn send(&self, body: &Bytes) -> anyhow::Result<()> {
        for attempt in 1.. {
            let answer = self.runtime.block_on(async {
                tokio::time::timeout(ANSWER_WITHIN, self.post(body.clone())).await.context("no answer in 30 s")?
            })?;
            match answer {
                Answer::Taken => break,
                Answer::Later(status, _) if attempt == ATTEMPTS => bail!("the collector says {status}"),
                Answer::Later(_, after) => {
                    std::thread::sleep(after.unwrap_or(Duration::from_millis(250 << attempt)).min(ANSWER_WITHIN));
                }
            }
        }
        Ok(())
    }

    async fn post(&self, body: Bytes) -> anyhow::Result<Answer> {
        // An address of six parts stands in brackets, which are no part of it.
        let host = self.address.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.address.port_u16().unwrap_or(DEFAULT_PORT);
        let stream = TcpStream::connect((host, port)).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let path = match self.address.path_and_query().map(|it| it.as_str()) {
            None | Some("" | "/") => DEFAULT_PATH,
            Some(path) => path,
        };
        let authority = self.address.authority().map_or("", |it| it.as_str());
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, authority.rsplit('@').next().unwrap_or(authority))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(body))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let after = answer.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
        if matches!(status.as_u16(), 429 | 502..=504) {
            return Ok(Answer::Later(status, after.map(Duration::from_secs)));
        }
        ensure!(status.is_success(), "the collector says {status}");
        let text = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let text = text.map_err(|error| anyhow::anyhow!("the collector's answer: {error}"))?.to_bytes();
        if let Some((count, why)) = rejected_spans(&text) {
            bail!("the collector rejected {count} spans: {why}");
        }
        Ok(Answer::Taken)
    }
}

impl Write for Collector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.request.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.request.is_empty() {
            return Ok(());
        }
        let body = Bytes::from(std::mem::take(&mut self.request));
        self.send(&body).map_err(|error| io::Error::other(format!("{error:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_files_and_wrong_ones_refused() {
        assert!(Collector::is_address(Path::new("http://127.0.0.1:4318")) && !Collector::is_address(Path::new("http")));
        let refused = |text: &str| Collector::new(Path::new(text)).err().map(|error| format!("{error:#}"));
        assert_eq!(refused("http://[::1]:4318/v1/traces"), None);
        assert!(refused("https://localhost").unwrap().contains("http only"));
        assert!(refused("http://").unwrap().contains("not a valid address"));
        assert!(refused("http://a b").unwrap().contains("not a valid address"));
    }
}
