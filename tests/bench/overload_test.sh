#!/bin/sh
# overload_test.sh <bench/overload> <build directory>, or overload_test.sh <its output> [<seconds>]: `make overload` shows
# what the README says: the level comes to the setpoint of bulk work and stays around it, RocksDB does not brake, and a
# client that publishes beside it is answered.
set -eu
if [ -f "$1" ] && [ ! -x "$1" ]; then
  seconds=${2:-30}
  out=$(cat "$1")
else
  # A disk that still writes what was before may be too slow for the level to be reached: it has a second chance.
  for chance in first second; do
    OVERLOAD_SECONDS=20 OVERLOAD_PORT=0 "$1" "$2" >"$2/overload.log" || { cat "$2/overload.log"; exit 1; }
    "$0" "$2/overload.log" 20 && exit
  done
  exit 1
fi
echo "$out"
fail() {
  echo "overload_test: $1" >&2
  exit 1
}
setpoint=$(echo "$out" | sed -n 's/.*its setpoint is \([0-9.]*\)\.$/\1/p')
level=$(echo "$out" | sed -n 's/.*the level was \([0-9.]*\) in the mean.*/\1/p')
echo "$level $setpoint" | awk '{ exit !($1 >= 0.8 * $2 && $1 <= 1.2 * $2) }' || fail "the level was $level, not within a fifth of $setpoint"
range=$(echo "$out" | sed -n 's/.* and \([0-9.]* to [0-9.]*\) in eight of ten seconds.*/\1/p')
echo "$range $setpoint" | awk '{ exit !($1 >= 0.25 * $4 && $3 <= 1.5 * $4) }' || fail "the level went from $range, with a setpoint of $setpoint"
[ "$(echo "$out" | grep -c ' s: level ')" = $seconds ] || fail "it did not say $seconds times what there was"
echo "$out" | grep -q 'RocksDB braked 0 times' || fail "RocksDB braked"
echo "$out" | grep -q 'Bulk work is held to .* (.*compaction is behind)' || fail "no second said why bulk work was held"
echo "$out" | grep -qE 'had its OK after [0-9.]+ ms' || fail "the client was not answered"
