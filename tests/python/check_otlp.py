"""Decodes an export for OpenTelemetry by its published definitions, and prints what is in it: FILE."""

import collections
import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

with open(sys.argv[1], "rb") as file:
    request = ExportTraceServiceRequest.FromString(file.read())


def attributes(of):
    value = lambda it: getattr(it, it.WhichOneof("value"))
    return {it.key: value(it.value) for it in of.attributes}


def summary(request):
    spans, traces, services, links = {}, set(), set(), []
    kinds = collections.Counter()
    names = collections.Counter()
    errors = collections.Counter()
    values = collections.Counter()
    for resource in request.resource_spans:
        about = attributes(resource.resource)
        services.add((about["service.name"], about["process.pid"], about["process.command_line"]))
        for scope in resource.scope_spans:
            assert scope.scope.name == "ada" and scope.scope.version
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8 and any(span.span_id)
                assert span.span_id not in spans, span
                assert span.start_time_unix_nano <= span.end_time_unix_nano
                spans[span.span_id] = span
                traces.add(span.trace_id)
                known = attributes(span)
                kinds[known.get("ada.runtime", "call")] += 1
                if "ada.runtime" not in known:
                    assert known["code.function.name"] == span.name and known["thread.id"] > 0
                    names[span.name] += 1
                if span.status.code:
                    errors[span.status.message] += 1
                values.update(it for it in known if it.startswith("ada.value."))
                links += span.links
    # Nobody is a child of what is not there, and calls lie within those that enclose them.
    is_call = lambda span: "ada.runtime" not in attributes(span)
    roots = 0
    for span in spans.values():
        if not span.parent_span_id:
            roots += 1
            continue
        parent = spans[span.parent_span_id]
        if is_call(span) and is_call(parent):
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    assert all(link.span_id in spans for link in links)
    return {
        "spans": len(spans), "traces": len(traces), "roots": roots, "kinds": kinds, "names": names, "errors": errors,
        "values": values, "services": sorted(services), "requests": len(request.resource_spans),
        "start": min(it.start_time_unix_nano for it in spans.values()),
    }


if __name__ == "__main__":
    print(json.dumps(summary(request)))
