#!/bin/sh
# vcpkg_test.sh <build directory> <C++ compiler> <version>: runs the port of deploy/vcpkg by the functions of vcpkg_functions.cmake,
# because no package of a test's has vcpkg itself, checks what it installs, and builds and runs throttle/examples with it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
registry=$(cd "$here/../../../deploy/vcpkg" && pwd)
work=$1/tests/package_vcpkg compiler=$2 version=$3
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "vcpkg_test: $1" >&2
  exit 1
}

echo "== the port"
cmake -DREGISTRY="$registry" -DPORT=weir-throttle -DVERSION="$version" -DWORK="$work" -DCOMPILER="$compiler" \
  -P "$here/vcpkg_functions.cmake" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
prefix=$work/packages
found=$(cd "$prefix" && find . -type f | sed -E 's,^\./,,; s,^include/weir/.*,include/weir,; s,[^/]*\.(a|cmake|pc)$,*.\1,' | sort -u | tr '\n' ' ')
expected='debug/lib/*.a debug/lib/pkgconfig/*.pc include/weir lib/*.a lib/pkgconfig/*.pc share/weir-throttle/copyright '
expected="${expected}share/weir-throttle/usage share/weir/*.cmake "
[ "$found" = "$expected" ] || fail "the port installs $found"
! grep -rlF "$work" "$prefix" --include='*.cmake' --include='*.pc' || fail "what the port installs holds only where it was built"
find "$prefix" -type d -empty | grep . && fail "the port leaves empty directories"

echo "== a program that uses it"
grep -E '^    ' "$registry/ports/weir-throttle/usage" | sed 's/^    //' >"$work/usage.cmake"
mkdir "$work/program"
cat >"$work/program/CMakeLists.txt" <<'PROGRAM'
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
add_executable(main EXCLUDE_FROM_ALL main.cc)
include(${USAGE})
get_target_property(debug weir::rocksdb_throttle IMPORTED_LOCATION_DEBUG)
get_target_property(release weir::rocksdb_throttle IMPORTED_LOCATION_RELEASE)
file(REAL_PATH ${debug} debug)
message(STATUS "libraries: ${release} ${debug}")
PROGRAM
: >"$work/program/main.cc"
cmake -S "$work/program" -B "$work/program/build" -DUSAGE="$work/usage.cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 || { cat "$work/log"; fail "the usage of the port does not work"; }
grep -qxF -- "-- libraries: $prefix/lib/libweir_rocksdb_throttle.a $prefix/debug/lib/libweir_rocksdb_throttle.a" "$work/log" ||
  { cat "$work/log"; fail "the debug library is not found beside the release one"; }
"$here/../examples.sh" cmake "$prefix" "$work/examples" "$compiler" -DCMAKE_BUILD_TYPE=Release
