#!/bin/sh
# stalls_less.sh <command of an example>: with weir, RocksDB stalls at most a tenth as long, or as often, as without (and on an idle
# machine not at all); at most a DIVISOR-th, or FEW times, if the environment has these. A busy machine may
# leave the example too little of the processor to overload RocksDB, or leave RocksDB's flushes too little, so a run that shows
# nothing is followed by a longer one.
for seconds in 8 16 32; do
  output=$("$@" "$seconds") || exit 1
  echo "$output"
  echo "$output" | awk -v divisor="${DIVISOR:-10}" -v few="${FEW:-0}" '
    match($0, /(stalled|stalled writers for|braked) [0-9]+ (ms|times)/) {
      text = substr($0, RSTART, RLENGTH)
      gsub(/[^0-9]/, "", text)
      stalls[$1] = text + 0
    }
    END {
      if (!("without" in stalls) || stalls["without"] <= 2 * few) { print "RocksDB did not stall, or hardly, without weir"; exit 1 }
      if (!("with" in stalls) || (stalls["with"] > few && stalls["with"] > stalls["without"] / divisor)) {
        print "RocksDB stalled with weir"
        exit 1
      }
    }' && exit 0
done
exit 1
