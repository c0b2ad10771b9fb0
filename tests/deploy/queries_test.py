#!/usr/bin/python3
"""queries_test.py <weir> <relay_load>: every query of the dashboard and of the alerts finds what it asks for, and promtool has
nothing to say about what they ask.

A real Prometheus reads relays on a RocksDB, short of memory, and two on one PostgreSQL, and a gate with all limiters over
TLS, while there is some load; then it is asked every query. Status 77: something that it needs is not here.
"""
import contextlib
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import servers

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
VARIABLES = {"$job": ".+", "$instance": ".+", "$__rate_interval": "10s"}
# A metric, with what is asked of its labels. Functions and words of PromQL are no metrics of anybody here.
SELECTOR = re.compile(r"\b(?:weir|nostr|process)_\w+(?:\{[^}]*\})?|\bup\{[^}]*\}|(?<![\w])\{__name__[^}]*\}")
TARGETS = 5


def http(url, body=None, method=None):
    context = ssl._create_unverified_context() if url.startswith("https") else None  # the test's own certificate
    request = urllib.request.Request(url, body.encode() if body is not None else None, method=method)
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=10, context=context) as answer:
        return answer.read().decode()


def make_certificate(directory):
    subprocess.run([servers.find("openssl", "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout",
                    f"{directory}/key.pem", "-out", f"{directory}/full.pem"], check=True, stderr=subprocess.DEVNULL)


def start_all(weir, directory, stack):
    """Ports of the relays on RocksDB, short of memory, and twice on PostgreSQL; of the gate."""
    database = f"postgres://weir@127.0.0.1:{stack.enter_context(servers.postgres(directory))}/postgres"
    redis = f"redis://127.0.0.1:{stack.enter_context(servers.redis(directory))}"
    make_certificate(directory)
    relay = {"RATE_LIMIT_TARGET_MEMORY_MB": 1024, "CONFIG": f"{SOURCE}/relay/limiters/example/weir.yaml",
             "RATELIMIT_CONFIG": f"{SOURCE}/relay/limiters/envoy/example"}
    short = {"RATE_LIMIT_TARGET_MEMORY_MB": 26, "RATE_LIMIT_EMERGENCY": 0.1, "RATE_LIMIT_RECOVERY": 0.05}
    gate = {**relay, "QUOTA_STORE": f"sqlite:{directory}/quota.db", "KEYED_STORE": redis, "QUOTA_API": "all",
            "TLS_CERT": f"{directory}/full.pem", "TLS_KEY": f"{directory}/key.pem"}
    plugin = """exec sed -u 's/.*"event":{.*"id":"\\([0-9a-f]\\{64\\}\\)".*/{"id":"\\1","action":"accept"}/'"""
    with open(relay["CONFIG"], encoding="utf-8") as example, open(f"{directory}/weir.yaml", "w", encoding="utf-8") as file:
        file.write(example.read() + '\nrouter: {peers: {relays: ["ws://127.0.0.1:1"]}}\n')
    full = {"WRITE_PLUGIN": plugin, "MAX_DISK_GB": 1, "CONFIG": f"{directory}/weir.yaml"}
    relays = {"rocksdb": {**relay, **full}, "short": {**relay, **short}, "one": {**relay, "STORE": database, "ORIGIN": "one"},
              "two": {**relay, "STORE": database, "ORIGIN": "two"}}
    ports = {name: stack.enter_context(servers.weir(weir, "relay", {**settings, "DATA_DIR": f"{directory}/{name}"}, directory))
             for name, settings in relays.items()}
    return ports, stack.enter_context(servers.weir(weir, "gate", gate, directory))


@contextlib.contextmanager
def prometheus(directory, relays, gate):
    """Yields its URL."""
    program = servers.find("prometheus", "what .ci/test-tools brings")
    jobs = [{"job_name": "weir", "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in relays]}]},
            {"job_name": "weir-gate", "scheme": "https", "tls_config": {"insecure_skip_verify": True},
             "static_configs": [{"targets": [f"127.0.0.1:{gate}"]}]}]
    with open(f"{directory}/prometheus.yml", "w", encoding="utf-8") as file:  # JSON is YAML
        json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs,
                   "rule_files": [f"{SOURCE}/deploy/prometheus/*.rules.yml"]}, file)
    port = servers.free_port()
    with servers.running([program, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/tsdb",
                          f"--web.listen-address=127.0.0.1:{port}"], f"{directory}/prometheus.log",
                         lambda said: "Server is ready to receive" in said):
        yield f"http://127.0.0.1:{port}"


def load(relay_load, directory, ports, gate):
    """Events, requests and live ones at each relay; every limiter of the gate."""
    for name in ("rocksdb", "short", "one"):
        for scenario in ("ingest", "req", "fan-out"):
            subprocess.run([relay_load, "--url", f"ws://127.0.0.1:{ports[name]}", "--events", "400", "--scale", "0.01",
                            "--cache", f"{directory}/events", scenario], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=name != "short")
    url = f"https://127.0.0.1:{gate}"
    http(f"{url}/v1/decide", '{"model":"gpt-4o","tokens":900}')
    reserved = json.loads(http(f"{url}/v1/reserve", '{"model":"gpt-4o","tokens":900}'))["reservation"]
    http(f"{url}/v1/commit", json.dumps({"reservation": reserved, "prompt_tokens": 80, "output_tokens": 30}))
    http(f"{url}/rate/somebody")
    http(f"{url}/api/anything")
    http(f"{url}/json", '{"domain":"edge","descriptors":[{"entries":[{"key":"remote_address","value":"10.0.0.1"}]}]}')


def ask(url, query):
    found = json.loads(http(f"{url}/api/v1/query?" + urllib.parse.urlencode({"query": query})) or "{}")
    return found["data"]["result"] if found.get("status") == "success" else None


def filled_in(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield from panel.get("panels", [])
        if panel["type"] != "row":
            yield panel


def dashboard_queries(dashboard):
    """(where, expression, labels that its legend shows)."""
    for panel in panels_of(dashboard):
        for target in panel["targets"]:
            yield panel["title"], filled_in(target["expr"]), re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
    for variable in dashboard["templating"]["list"]:
        if asked := re.fullmatch(r"label_values\((.*), (\w+)\)", filled_in(variable.get("definition", ""))):
            yield f"the variable {variable['name']}", asked[1], [asked[2]]


def faults_of_panels(dashboard):
    """What Grafana would show only to the eye: two panels of one id, or one that asks a Prometheus that is not here."""
    panels = list(panels_of(dashboard))
    ids = [panel["id"] for panel in panels]
    yield from (f"two panels have the id {twice}" for twice in set(ids) if ids.count(twice) > 1)
    for panel in panels:
        if panel["datasource"]["uid"] != "${datasource}":
            yield f"{panel['title']}: it asks {panel['datasource']['uid']} instead of the chosen Prometheus"


def faults_of(url, where, expression, labels, must_find):
    results = ask(url, expression)
    if results is None:
        yield f"{where}: Prometheus does not understand {expression}"
        return
    for selector in SELECTOR.findall(expression):
        if not ask(url, selector):
            yield f"{where}: nothing has {selector}"
    if must_find and not results:
        yield f"{where}: nothing is found by {expression}"
    for label in labels:
        if results and not any(result["metric"].get(label) for result in results):
            yield f"{where}: what {expression} finds has no label {label}"


def faults_of_format(urls):
    promtool = servers.find("promtool", "what .ci/test-tools brings")
    for url in urls:
        said = subprocess.run([promtool, "check", "metrics"], input=http(f"{url}/metrics"), text=True, capture_output=True,
                              check=False)
        if said.returncode or said.stderr:
            yield f"promtool about {url}/metrics: {said.stdout}{said.stderr}"


def faults_of_rules(url):
    with open(f"{SOURCE}/tests/deploy/rules_test.yml", encoding="utf-8") as file:
        tested = set(re.findall(r'alertname="(\w+)"', file.read()))
    groups = json.loads(http(f"{url}/api/v1/rules"))["data"]["groups"]
    for rule in [rule for group in groups for rule in group["rules"]]:
        if not SELECTOR.search(rule["query"]):
            yield f"{rule['name']}: no metric is found in {rule['query']}"
        labels = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        yield from faults_of(url, rule["name"], rule["query"], labels, must_find=False)
        if not {"summary", "description"} <= set(rule["annotations"]) or "severity" not in rule["labels"]:
            yield f"{rule['name']}: it has no summary, description or severity"
        if rule["name"] not in tested:
            yield f"{rule['name']}: rules_test.yml does not let it fire"


def run(weir, relay_load, directory, stack):
    ports, gate = start_all(weir, directory, stack)
    url = stack.enter_context(prometheus(directory, ports.values(), gate))
    servers.eventually("all are read", lambda: len(ask(url, "up == 1") or []) == TARGETS)
    load(relay_load, directory, ports, gate)
    servers.eventually("the load is seen", lambda: ask(url, filled_in("rate(nostr_events_total[$__rate_interval]) > 0")))
    servers.eventually("the alert of the one that is short of memory is pending", lambda: ask(url, "ALERTS"))
    with open(f"{SOURCE}/deploy/grafana/weir.json", encoding="utf-8") as file:
        dashboard = json.load(file)
    queries = list(dashboard_queries(dashboard))
    faults = [fault for where, query, labels in queries for fault in faults_of(url, where, query, labels, must_find=True)]
    faults += [*faults_of_panels(dashboard), *faults_of_rules(url)]
    faults += faults_of_format([f"https://127.0.0.1:{gate}", *(f"http://127.0.0.1:{port}" for port in ports.values())])
    print("\n".join(faults) or f"{len(queries)} queries of the dashboard and all of the alerts find what they ask for")
    return 1 if faults else 0


def main():
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        try:
            return run(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), directory, stack)
        except servers.Skip as missing:
            print(f"skipped: {missing}")
            return 77


sys.exit(main())
