#!/bin/sh
# plots_test.sh <storm-plots>: draws what there is, twice the same, and says what is missing. Skipped without gnuplot.
set -eu
storm_plots=$1
if ! command -v gnuplot >/dev/null || ! command -v python3 >/dev/null; then
  echo "skipped: needs gnuplot and python3, which .ci/install-deps plots installs"
  exit 77
fi
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir "$results/timeline" "$results/ccdf"

fail() { echo "$*" >&2; cat "$results/said" >&2; exit 1; }

if "$storm_plots" "$results" >"$results/said" 2>&1; then fail "no results passed"; fi
grep -q 'make storm' "$results/said" || fail "does not say what makes results"

printf '%s,%s\n' shape,scale,scenario,policy,repetition,label,phase,outcome \
  write_p999_ms,bulk_mb_per_second,adjusted_bulk_mb_per_second,braked_seconds,highest_level >"$results/results.csv"
run() {  # policy, p99.9, bulk MB/s
  for repetition in 1 2; do
    echo "recipe,1,burst,$1,$repetition,,burst,ok,$2,6.000,$3,0.000,0.700" >>"$results/results.csv"
    printf 'second,phase,level,limit_mb_per_second,drain_mb_per_second,bulk_mb_per_second,write_max_ms\n%s\n%s\n' \
      "0.1,burst,0.5,inf,5.0,6.0,$2" "1.1,burst,0.7,5.0,5.0,0.0,0.000" >"$results/timeline/burst-$1-x1-$repetition.csv"
    printf 'latency_ms,share_longer\n0.1,1\n%s,0.001\n' "$2" >"$results/ccdf/burst-$1-x1-$repetition.csv"
  done
}
run alone 900.000 6.500
run static@5.5 2.000 5.200
run static@7 40.000 5.900
run weir 2.500 5.100
run a_new_one 3.000 4.000
echo 'recipe,1,burst,low_pri,1,,burst,aborted,0.000,0.000,0.000,0.000,0.000' >>"$results/results.csv"

"$storm_plots" "$results" >"$results/said" 2>&1 || fail "failed"
for plot in latency ccdf control frontier; do
  [ -s "$results/plots/$plot.svg" ] || fail "no $plot.svg"
done
grep -q 'cut.svg skipped.*make storm' "$results/said" || fail "does not say why there is no cut.svg"
grep -q 'low_pri left out: aborted' "$results/said" || fail "hides an aborted run"
if grep -qi 'warning' "$results/said"; then fail "gnuplot warns"; fi
grep -q 'static@5.5' "$results/plots/ccdf.svg" || fail "not the best of the oracle's sweep"

mv "$results/plots" "$results/before"
rm "$results/ccdf/"* "$results/timeline/burst-alone-x1-1.csv"
"$storm_plots" "$results" >"$results/said" 2>&1 || fail "failed for want of files"
grep -q 'ccdf.svg skipped' "$results/said" || fail "does not say why there is no ccdf.svg"
cmp "$results/before/frontier.svg" "$results/plots/frontier.svg" || fail "frontier.svg differs from run to run"

echo 'engine: neo4j' >"$results/machine.txt"
"$storm_plots" "$results" >"$results/said" 2>&1 || fail "failed for another engine"
grep -q 'Neo4j is overloaded' "$results/plots/control.svg" || fail "takes every engine for RocksDB"

mkdir "$results/shapes"
head -n 1 "$results/results.csv" >"$results/shapes/results.csv"
for repetition in 1 2 3; do
  for shape in recipe deep; do
    echo "$shape,1,shape,alone,$repetition,,burst,ok,900.000,6.500,6.000,29.000,2.000
$shape,1,shape,weir,$repetition,,burst,ok,$repetition.500,5.500,5.$repetition,0.000,0.700" >>"$results/shapes/results.csv"
  done
done
"$storm_plots" "$results/shapes" >"$results/said" 2>&1 || fail "failed for shapes"
grep -q 'deep' "$results/shapes/plots/shapes.svg" || fail "no shape in shapes.svg"
if grep -qi 'warning\|skipped' "$results/said"; then fail "complains of plots that nobody asked for"; fi
