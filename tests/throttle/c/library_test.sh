#!/bin/sh
# library_test.sh <libweir.so> <weir.h's directory> <this directory>: what programs in C meet. The library's symbols are
# those that symbols.txt has, because a program that was linked with an older one must still find its own; it needs no RocksDB;
# the headers are C99; and the example, a bulk load by RocksDB's C API, is braked by RocksDB without weir, and hardly with it.
set -eu
library=$1
headers=$2
here=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >"$work/symbols"
if ! diff -u "$here/symbols.txt" "$work/symbols"; then
  echo "libweir.so has other symbols than symbols.txt: add new ones there, and never remove one"
  exit 1
fi
if readelf -d "$library" | grep -E 'NEEDED.*(rocksdb|jemalloc|boost|spdlog)'; then
  echo "libweir.so must need no library of an engine or of the relay"
  exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libweir.so.0\]' || { echo "the library is not libweir.so.0"; exit 1; }

command -v cc >/dev/null || { echo "skipped: cc is not installed"; exit 77; }
for header in weir.h weir_rocksdb.h; do
  cc -std=c99 -pedantic -Wall -Wextra -Werror -I"$headers" -fsyntax-only -x c "$headers/$header"
done
cc -std=gnu11 -Wall -Wextra -Werror -I"$headers" "$headers/examples/bulk_load.c" -o "$work/bulk_load" "$library" \
  -lrocksdb -lpthread -Wl,-rpath,"$(dirname "$library")"
"$here/stalls_less.sh" "$work/bulk_load" "$work/db"
