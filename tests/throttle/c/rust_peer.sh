#!/bin/sh
# rust_peer.sh <libweir.so> <the repository>: the crate, its page and its example against the crate `rocksdb`, of crates.io,
# on the librocksdb of the system. Status 77, skipped: cargo or that library is not here, or .ci/test-tools has not
# brought the crates.
set -eu
WEIR_LIB_DIR=$(cd "$(dirname "$1")" && pwd)
LD_LIBRARY_PATH=$WEIR_LIB_DIR
export WEIR_LIB_DIR LD_LIBRARY_PATH
house=$2
crates=$house/build/tools/rust-peers

skip() { echo "skipped: $1"; exit 77; }

command -v cargo >/dev/null || skip "cargo is not installed"
library=$(find /usr/lib /usr/local/lib -name librocksdb.so 2>/dev/null | head -n 1)
[ -n "$library" ] || skip "librocksdb is not installed"
[ -x "$crates" ] || skip "no crates are here (.ci/test-tools brings them)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ROCKSDB_LIB_DIR=$(dirname "$library")
# Some tests make the reader panic, many times.
export ROCKSDB_LIB_DIR CARGO_TARGET_DIR="$crates" CARGO_HOME="$crates/home" TMPDIR="$work" RUST_BACKTRACE=0

cd "$house/throttle/c/rust"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo fetch --offline --locked --quiet --target "$host" 2>/dev/null || skip "the crates were removed (.ci/test-tools brings them)"
cargo test --offline --locked --quiet
"$house/tests/throttle/c/stalls_less.sh" cargo run --offline --locked --quiet --example bulk_load
