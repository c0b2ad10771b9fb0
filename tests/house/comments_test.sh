#!/bin/sh
# comments_test.sh <check-comments>: it passes comments that open with a verb or a subject, and names those that do not.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/relay/watch/top"

printf '// Returns the bytes.\n// Of these, none is kept.\nint Bytes();  // "where" and offsets\nint of;  // bytes of a page\n' \
  >"$house/relay/watch/top/good.h"
"$check" "$house"

printf '// Returns the bytes.\nint Bytes();  // of a page\n\n// So few that nobody waits.\nint n;\n' >"$house/relay/watch/top/bad.h"
if found=$("$check" "$house"); then
  echo "comments without a subject passed" >&2
  exit 1
fi
[ "$found" = "relay/watch/top/bad.h:2: opens without a subject: of a page
relay/watch/top/bad.h:4: opens without a subject: So few that nobody waits." ] || {
  echo "$found" >&2
  exit 1
}
