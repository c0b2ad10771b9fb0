#!/bin/sh
# checkout_test.sh <source directory>: a checkout whose path has spaces, and which its user may not write to, is built
# elsewhere; where nothing says where, a sentence does.
set -eu
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
checkout="$work/a checkout" build="$work/a build"
mkdir "$checkout" "$build"
tar -C "$1" --exclude ./build --exclude ./.git -c . | tar -C "$checkout" -x
chmod -R a-w "$checkout"
chmod 755 "$work"
fail() {
  echo "checkout_test: $1" >&2
  cat "$work/out" >&2
  exit 1
}
# Root may write everywhere.
as_user=
if [ "$(id -u)" = 0 ]; then
  as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
  chown 65534:65534 "$build"
fi
# try <command…>: in the checkout, with a home of its own.
try() { (cd "$checkout" && $as_user env HOME="$build" CCACHE_DIR="$build/ccache" "$@") >"$work/out" 2>&1; }

! try make run || fail "it was built in a checkout that cannot be written to"
grep -q "build/release cannot be written to; BUILD=DIRECTORY" "$work/out" || fail "it is not said what to do"
try .ci/configure "$build" release OFF || fail "it cannot be configured elsewhere"
try cmake --build "$build" --target weir_command_line || fail "it cannot be built elsewhere"
