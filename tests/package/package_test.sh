#!/bin/sh
# package_test.sh <build directory> <C++ compiler>: installs weir into a fresh directory and builds, as strangers would, one
# program on the throttle alone, one on the quotas alone, one on all stores of the quotas, one that watches a PostgreSQL, one that
# watches a Neo4j, one that gates a RocksDB, and one on everything.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$1/tests/package
rm -rf "$work"
mkdir -p "$work"
cmake --install "$1" --prefix "$work/prefix" >"$work/install.log"

consume() {
  cmake -S "$here/$1" -B "$work/$1" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$2" \
    -DCMAKE_BUILD_TYPE=Release >"$work/$1.log"
  cmake --build "$work/$1" -- -v >"$work/$1.build.log" || { cat "$work/$1.build.log"; exit 1; }
  (cd "$work/$1" && ./consumer)
}

# links_none_of <program> <libraries>
links_none_of() {
  if grep -E "(lib|-l)($2)" "$work/$1.build.log" || ldd "$work/$1/consumer" | grep -E "lib($2)"; then
    echo "package_test: the $1's user had to link what it does not need" >&2
    exit 1
  fi
}

consume throttle "$2"
links_none_of throttle 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|ssl'

consume quota "$2"
links_none_of quota 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|ssl'

consume quota_stores "$2"
links_none_of quota_stores 'rocksdb|boost|jemalloc'

consume postgres "$2"
links_none_of postgres 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis'

consume neo4j "$2"
links_none_of neo4j 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|pq'

consume rocksdb "$2"
links_none_of rocksdb 'boost|yaml|sqlite|hiredis|ssl'

consume monitors "$2"
ldd "$work/monitors/consumer" | grep -q rocksdb

"$work/prefix/bin/weir" config --format=markdown >/dev/null
if grep -rlF "$1" "$work/prefix/lib" --include='*.cmake'; then
  echo "package_test: the installed targets point into the build directory" >&2
  exit 1
fi
