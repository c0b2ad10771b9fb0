#!/bin/sh
# files_test.sh <rules|units|dockerfile|compose|caddyfile> [weir]: what a file of deploy/ is for says that it is good.
# Status 77, skipped: the tool is not here.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/build/tools:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

needs() {  # <program> <what brings it>
  command -v "$1" >/dev/null && return
  echo "skipped: $1 is not here; it comes with $2"
  exit 77
}

case $1 in
  rules)
    needs promtool "what .ci/test-tools brings"
    promtool check config deploy/prometheus/prometheus.yml
    promtool test rules tests/deploy/rules_test.yml
    ;;
  units)
    needs systemd-analyze systemd
    for unit in deploy/*.service; do
      systemd-analyze security --offline=true --threshold=30 "$unit" >"$work/exposure" || { cat "$work/exposure"; exit 1; }
      tail -n 1 "$work/exposure"
      sed "s|^ExecStart=weir|ExecStart=$2|" "$unit" >"$work/$(basename "$unit")"
    done
    systemd-analyze verify "$work"/*.service 2>&1 | tee "$work/complaints"
    test ! -s "$work/complaints"
    ;;
  dockerfile)
    needs hadolint "what .ci/test-tools brings"
    hadolint deploy/Dockerfile
    ;;
  compose)
    export GRAFANA_PASSWORD=secret WEIR_HOST=relay.example
    cd deploy
    if docker compose version >/dev/null 2>&1; then
      docker compose config >"$work/all.yaml"
    else
      needs compose-spec "docker compose, or what .ci/test-tools brings"
      compose-spec -no-interpolation compose.yaml >"$work/all.yaml"
    fi
    mounted=$(sed -n 's|^ *source: \(/.*\)|\1|p' "$work/all.yaml")
    test -n "$mounted"
    ls -d $mounted
    ;;
  caddyfile)
    needs caddy "what .ci/test-tools brings"
    HOME=$work WEIR_HOST=relay.example caddy validate --adapter caddyfile --config deploy/Caddyfile 2>"$work/log" ||
      { cat "$work/log"; exit 1; }
    ;;
esac
