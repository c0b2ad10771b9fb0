#!/bin/sh
# package_test.sh <build directory> <C++ compiler> [library]: installs weir into a fresh directory and builds, as strangers would,
# one program on the throttle alone, one on the quotas alone, one on all stores of the quotas, one that watches a PostgreSQL, one
# that watches a MyRocks, one that watches a Neo4j, those of throttle/examples, and one on everything. With `library`, it builds and installs the throttle of a
# RocksDB alone, as `make install-library` does, and then the programs for which that suffices; it moves the installation and builds
# the examples once more, by pkg-config.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 compiler=$2 part=${3:-}
work=$1/tests/package${part:+_$part}
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "package_test: $1" >&2
  exit 1
}

# run <log> <command…>: shows the log if the command fails.
run() {
  log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
}

# configure <program>
configure() {
  cmake -S "$here/$1" -B "$work/$1" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Release
}

# consume <program> <libraries>: builds and runs the program, which may link none of these.
consume() {
  run "$1" configure "$1"
  run "$1.build" cmake --build "$work/$1" -- -v
  (cd "$work/$1" && ./consumer)
  if grep -E "(lib|-l)($2)" "$work/$1.build.log" || ldd "$work/$1/consumer" | grep -E "lib($2)"; then
    fail "the $1's user had to link what it does not need"
  fi
}

# Builds the library beside the build directory, and as deep, so that ccache knows what that one has compiled.
build_library() {
  build=$build.library
  rm -rf "$build"
  absent=""
  for package in Boost yaml-cpp CLI11 simdjson OpenSSL SQLite3 Protobuf PostgreSQL spdlog prometheus-cpp GTest benchmark; do
    absent="$absent -DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"
  done
  run library.configure cmake -S "$here/../.." --preset library -B "$build" -DCMAKE_CXX_COMPILER="$compiler" $absent
  ! grep '^WEIR_.*_LIBRARY:' "$build/CMakeCache.txt" || fail "the library needs another library than RocksDB"
  run library.build cmake --build "$build"
}

[ -z "$part" ] || build_library
run install cmake --install "$build" --prefix "$work/prefix"
! grep -rlF "$build" "$work/prefix/lib" --include='*.cmake' || fail "the installed targets point into the build directory"

consume throttle 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|ssl'
"$here/examples.sh" cmake "$work/prefix" "$work/examples" "$compiler"

if [ -n "$part" ]; then
  [ ! -e "$work/prefix/bin" ] || fail "a program is installed with the library"
  ! configure quota >"$work/quota.log" 2>&1 || fail "an installation of the library claims to have the quotas"
  grep -q 'weir::quota is not in this installation' "$work/quota.log" || { cat "$work/quota.log"; fail "the quotas' user is not told why"; }
  ! grep -rlF "$work" "$work/prefix/lib/pkgconfig" || fail "the files of pkg-config hold only where they were installed"
  mv "$work/prefix" "$work/a moved prefix"
  "$here/examples.sh" pkg-config "$work/a moved prefix" "$work/examples" "$compiler"
  exit
fi

consume quota 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|ssl'
consume quota_stores 'rocksdb|boost|jemalloc'
consume postgres 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis'
consume myrocks 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|pq'
consume neo4j 'rocksdb|boost|jemalloc|yaml|sqlite|hiredis|pq'
consume monitors 'boost|sqlite|hiredis'
ldd "$work/monitors/consumer" | grep -q rocksdb
"$work/prefix/bin/weir" config --format=markdown >/dev/null
