#!/bin/sh
# stalls_less.sh <command of an example>: with weir, RocksDB stalls writers for at most a tenth of the time for which it does
# without (and on an idle machine not at all). A busy machine may leave the example too little of the processor to overload
# RocksDB, or leave RocksDB's flushes too little, so a run that shows nothing is followed by a longer one.
for seconds in 8 16 32; do
  output=$("$@" "$seconds") || exit 1
  echo "$output"
  echo "$output" | awk '
    match($0, /stalled writers for [0-9]+ ms/) { ms[$1] = substr($0, RSTART + 20) + 0 }
    END {
      if (ms["without"] == 0) { print "RocksDB did not stall without weir"; exit 1 }
      if (!("with" in ms) || ms["with"] > ms["without"] / 10) { print "RocksDB stalled with weir"; exit 1 }
    }' && exit 0
done
exit 1
