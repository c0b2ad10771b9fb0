"""otlp_peer.py proto|collector <weir>: a gate whose traces go to a collector: here, read by the protocol's own messages, or
the OpenTelemetry Collector."""

import base64
import http.server
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
PATIENCE = 60


class Child:
    """A program whose lines can be waited for."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def await_line(self, pattern):
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                sys.exit(f"no line has {pattern}:\n{''.join(self.seen)}")
            self.seen.append(line)
            if found := re.search(pattern, line):
                return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def gate(weir, collector):
    return Child([weir, "gate"], WEIR_PORT="0", OTEL_EXPORTER_OTLP_ENDPOINT=collector, OTEL_TRACES_SAMPLER_ARG="1",
                 OTEL_SERVICE_NAME="gate of a test", OTEL_RESOURCE_ATTRIBUTES="deployment.environment=test")


def decide(url):
    request = urllib.request.Request(
        url + "/v1/decide", data=b'{"model":"gpt-4o","tokens":900}',
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert json.load(urllib.request.urlopen(request))["allowed"]


def message_of(body):
    """The protocol's message. Its JSON has ids in hexadecimal, where protobuf's own has base64."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    document = json.loads(body)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key, digits in (("traceId", 32), ("spanId", 16), ("parentSpanId", 16)):
                    if key in span:
                        assert re.fullmatch(f"[0-9a-f]{{{digits}}}", span[key]), span
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


def proto(weir):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTracePartialSuccess, ExportTraceServiceResponse)
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    requests = queue.Queue()

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            requests.put((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            answer = json_format.MessageToJson(ExportTraceServiceResponse(
                partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message="of a test")))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with gate(weir, f"http://127.0.0.1:{server.server_port}") as child:
        url = child.await_line(r"http://127\.0\.0\.1:\d+(?=;)").group()
        decide(url)
        path, content_type, body = requests.get(timeout=PATIENCE)
        child.await_line("it rejects spans: of a test")
        with urllib.request.urlopen(url + "/metrics") as metrics:
            assert 'weir_trace_spans_total{result="rejected"} 1\n' in metrics.read().decode()
    assert (path, content_type) == ("/v1/traces", "application/json"), (path, content_type)
    resource, = message_of(body).resource_spans
    attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert attributes["service.name"] == "gate of a test", attributes
    assert attributes["deployment.environment"] == "test", attributes
    span, = resource.scope_spans[0].spans
    assert span.trace_id.hex() == TRACE and span.parent_span_id.hex() == PARENT and len(span.span_id) == 8, span
    assert (span.name, span.kind) == ("quota decide", Span.SPAN_KIND_SERVER), span
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
    assert {a.key: a.value.int_value or a.value.string_value for a in span.attributes} == {
        "weir.tokens": 900, "weir.outcome": "ok"}, span


def collector(weir):
    directory = tempfile.TemporaryDirectory()
    config = pathlib.Path(directory.name) / "config.yaml"
    config.write_text("""
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
""")
    with directory, Child(["otelcol", "--config", str(config)]) as otelcol:
        port = otelcol.await_line(r'Starting HTTP server.*"endpoint": "127\.0\.0\.1:(\d+)"').group(1)
        with gate(weir, f"http://127.0.0.1:{port}") as child:
            decide(child.await_line(r"http://127\.0\.0\.1:\d+(?=;)").group())
            for pattern in (r"service\.name: Str\(gate of a test\)", TRACE, PARENT, "Name +: quota decide",
                            "Kind +: Server", r"weir\.tokens: Int\(900\)", r"weir\.outcome: Str\(ok\)"):
                otelcol.await_line(pattern)


{"proto": proto, "collector": collector}[sys.argv[1]](sys.argv[2])
