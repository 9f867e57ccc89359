"""Sends a session through a real OpenTelemetry collector, and decodes what it passes on: ADA SESSION.

ada → rotel (PyPI's collector) → a server here, which answers as OTLP says. Prints how many spans of which names arrived.
"""

import collections
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import rotel
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

# Nothing here takes a tenth of this, unless it hangs.
PATIENCE = 120

names = collections.Counter()
lock = threading.Lock()


class Backend(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        with lock:
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    names.update(span.name for span in scope.spans)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(done, what):
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def main():
    ada, session = sys.argv[1:]
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    program = pathlib.Path(rotel.__file__).with_name("rotel-agent")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        log = open(f"{folder}/log", "wb")
        collector = subprocess.Popen(
            [program, "start", "--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint",
             f"127.0.0.1:{free_port()}", "--exporter", "otlp", "--otlp-exporter-protocol", "http",
             "--otlp-exporter-endpoint", f"http://127.0.0.1:{backend.server_address[1]}",
             "--pid-file", f"{folder}/pid", "--log-file", f"{folder}/agent.log"],
            stdout=log, stderr=log,
        )
        try:
            until(lambda: collector.poll() is not None or listens(port), "the collector to start")
            sent = subprocess.run(
                [ada, "export", "--to", "otlp", "--output", f"http://127.0.0.1:{port}", session],
                capture_output=True, text=True,
            )
            assert sent.returncode == 0, sent.stderr + pathlib.Path(f"{folder}/log").read_text()
            # What it has taken it passes on when it ends, at the latest.
            collector.send_signal(signal.SIGTERM)
            collector.wait(timeout=PATIENCE)
        finally:
            collector.kill()
    print(json.dumps({"said": sent.stderr, "names": names, "spans": sum(names.values())}))


main()
