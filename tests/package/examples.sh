#!/bin/sh
# examples.sh <cmake|pkg-config> <prefix> <work directory> <C++ compiler> [argument of cmake…]: builds throttle/examples against the
# throttle that is installed below the prefix, as find_package or pkg-config finds it, runs each program, and checks what it prints.
set -eu
source=$(cd "$(dirname "$0")/../../throttle/examples" && pwd)
by=$1 prefix=$2 work=$3 compiler=$4
shift 4
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "examples: $1" >&2
  exit 1
}

# run <command…>: shows the log if the command fails.
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$1 failed"; }; }

case $by in
  cmake)
    run cmake -S "$source" -B "$work" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" "$@"
    run cmake --build "$work"
    ;;
  pkg-config)
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weir-throttle.pc | head -n 1)")
    export PKG_CONFIG_PATH
    for program in bulk_load transaction ask_by_hand own_engine; do
      package=weir-rocksdb-throttle
      [ $program != own_engine ] || package=weir-throttle
      flags=$(pkg-config --cflags --libs $package)
      eval "run $compiler -std=c++20 -o '$work/$program' '$source/$program.cc' $flags"
    done
    # A package of archives has no library of C. Its program is only linked here; tests/throttle/c runs it.
    if pkg-config --exists weir; then
      flags=$(pkg-config --cflags --libs weir rocksdb)
      eval "run ${CC:-cc} -o '$work/c_bulk_load' '$source/../c/examples/bulk_load.c' $flags"
    fi
    ;;
esac

# prints <line, as grep -E has it> <program> [argument…]
prints() {
  expected=$1 program=$2
  shift 2
  ! ldd "$work/$program" | grep -E 'lib(boost|yaml|sqlite|hiredis|ssl)' || fail "$program had to link what it does not need"
  "$work/$program" "$@" >"$work/printed" 2>&1 || { cat "$work/printed"; fail "$program failed"; }
  cat "$work/printed"
  grep -qxE "$expected" "$work/printed" || fail "$program should print: $expected"
}

prints '4096 records imported beside [0-9]+ small writes, of which [0-9]+ were refused' bulk_load "$work/bulk_load.db" 4
prints 'after 100 transfers the value is at account-100' transaction "$work/transaction.db"
prints 'the database has 2 records of two clients' ask_by_hand "$work/ask_by_hand.db"
prints '1000 jobs admitted; the queue was at most [0-9]+ % full' own_engine
! ldd "$work/own_engine" | grep rocksdb || fail "own_engine had to link RocksDB"
