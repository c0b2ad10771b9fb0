#!/bin/sh
# conan_test.sh <build directory> <C++ compiler> <version>: Conan takes weir-throttle from deploy/conan, as a remote of recipes and
# without any other, builds it on the system's RocksDB and on one that another recipe has, and builds and runs throttle/examples
# with it. Status 77, skipped: Conan is not here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)
work=$1/tests/package_conan compiler=$2 version=$3
recipes=$source/deploy/conan

if [ -d "$source/build/tools/conan" ]; then
  PATH=$source/build/tools/conan/bin:$PATH
  export PYTHONPATH="$source/build/tools/conan${PYTHONPATH:+:$PYTHONPATH}"
fi
if ! conan --version >/dev/null 2>&1; then
  echo "skipped: conan is not here (.ci/test-tools brings it)"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export CONAN_HOME="$work/home" CXX="$compiler"

fail() {
  echo "conan_test: $1" >&2
  exit 1
}
# run <command…>: shows the log if the command fails.
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$* failed"; }; }

run conan profile detect
run conan remote remove conancenter
run conan remote add weir "$recipes" --type local-recipes-index
# What a test leaves stands in its own directory, and what it compiles is not optimised.
echo "tools.cmake.cmake_layout:test_folder=$work/test_package" >>"$CONAN_HOME/global.conf"
echo "tools.cmake.cmaketoolchain:generator=Ninja" >>"$CONAN_HOME/global.conf"
echo "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_RELEASE': '-O0'}" >>"$CONAN_HOME/global.conf"
[ "$(conan list 'weir-throttle/*' -r weir --format=compact | grep -o 'weir-throttle/[0-9.]*' | sort -u)" = "weir-throttle/$version" ] ||
  fail "deploy/conan must have the version of the project, $version, alone"

echo "== on the system's RocksDB"
system="-s compiler.cppstd=gnu20 -o weir-throttle/*:rocksdb=system"
run conan install --requires "weir-throttle/$version" --build missing $system --format json --out-file graph.json
package=$(sed -n 's/.*"package_folder": "\(.*\)".*/\1/p' graph.json | head -n 1)
found=$(cd "$package" && find . -type f ! -path './include/weir/*' | sort | tr '\n' ' ')
expected="./conaninfo.txt ./conanmanifest.txt ./lib/libweir_config.a ./lib/libweir_monitors.a ./lib/libweir_monitors_core.a"
expected="$expected ./lib/libweir_rocksdb_throttle.a ./lib/libweir_throttle.a ./licenses/LICENSE "
[ "$found" = "$expected" ] || fail "the package has $found"
run conan test "$recipes/recipes/weir-throttle/all/test_package" "weir-throttle/$version" $system
grep -xE '4096 records imported beside .*' "$work/log"

echo "== by pkg-config"
run conan install --requires "weir-throttle/$version" $system --generator PkgConfigDeps --output-folder pc
flags=$(PKG_CONFIG_PATH=pc pkg-config --cflags --libs weir-rocksdb-throttle)
run "$compiler" -std=c++20 -o ask_by_hand "$source/throttle/examples/ask_by_hand.cc" $flags
./ask_by_hand by_pkg_config.db

echo "== on the RocksDB of another recipe"
run conan create "$here/rocksdb" --version 7.8.3 -o 'rocksdb/*:use_rtti=True'
run conan install --requires "weir-throttle/$version" --build missing -s compiler.cppstd=gnu20
run conan test "$recipes/recipes/weir-throttle/all/test_package" "weir-throttle/$version" -s compiler.cppstd=gnu20
grep -xE '4096 records imported beside .*' "$work/log"

# refuses <what it says> <argument of conan…>
refuses() {
  said=$1
  shift
  ! conan install --requires "weir-throttle/$version" "$@" >"$work/log" 2>&1 || fail "it takes $*"
  grep -qF -- "$said" "$work/log" || { cat "$work/log"; fail "it does not say: $said"; }
}
echo "== what cannot work"
refuses 'set rocksdb/*:use_rtti=True' -s compiler.cppstd=gnu20 -o 'rocksdb/*:use_rtti=False' --build missing
refuses 'set rocksdb/*:shared=False' -s compiler.cppstd=gnu20 -o 'rocksdb/*:shared=True' --build missing
refuses 'C++ standard' -s compiler.cppstd=17 -o 'weir-throttle/*:rocksdb=system' --build missing
