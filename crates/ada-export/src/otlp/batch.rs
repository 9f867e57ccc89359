//! What is sent in one piece.

use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

use super::{number, text};
use crate::model::{ProcessInfo, TraceInfo};

/// Collectors refuse requests of more than some megabytes (OpenTelemetry's own: 20 MiB, by gRPC 4).
const MAX_BYTES: usize = 1 << 20;
const MAX_SPANS: usize = 8192;

/// Spans that wait to be sent, by process.
#[derive(Default)]
pub(super) struct Batch {
    request: ExportTraceServiceRequest,
    /// The process of the newest spans.
    process: usize,
    spans: usize,
    bytes: usize,
}

impl Batch {
    pub(super) fn add(&mut self, trace: &TraceInfo, process: usize, span: Span) {
        if self.request.resource_spans.is_empty() || self.process != process {
            self.process = process;
            self.request.resource_spans.push(resource(&trace.processes[process]));
        }
        self.spans += 1;
        self.bytes += span.encoded_len();
        let resource = self.request.resource_spans.last_mut().expect("one was pushed");
        resource.scope_spans[0].spans.push(span);
    }

    pub(super) fn is_full(&self) -> bool {
        self.spans >= MAX_SPANS || self.bytes >= MAX_BYTES
    }

    /// Writes what there is, if there is something, and flushes.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let request = std::mem::take(self).request;
        if request.resource_spans.is_empty() {
            return Ok(());
        }
        out.write_all(&request.encode_to_vec())?;
        out.flush()
    }
}

fn resource(process: &ProcessInfo) -> ResourceSpans {
    let file = process.name.split(' ').next().unwrap_or_default();
    let service = file.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown_service");
    let scope = InstrumentationScope {
        name: "ada".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    ResourceSpans {
        resource: Some(Resource {
            attributes: vec![
                text("service.name", service),
                number("process.pid", process.pid.0.into()),
                text("process.command_line", &process.name),
            ],
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans { scope: Some(scope), ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    }
}
