#!/bin/sh
# names_test.sh <check-names>: it passes names that cannot be mistaken for each other, and tells of those that can.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/relay/watch/top" "$house/relay/store"

printf 'struct Key {\n};\nclass Line;\n' >"$house/relay/store/keys.h"
printf 'class Line final : public X {\n};\n' >"$house/relay/watch/top/good.h"
printf 'namespace {\n\nenum class Key {\n};\n\n}  // namespace\n' >"$house/relay/watch/top/good.cc"
"$check" "$house"

printf '\nenum class Key : uint8_t { kUp };\n' >"$house/relay/watch/top/bad.h"
printf 'template <typename T>\nclass Line {\n};\n' >"$house/relay/watch/top/keys.h"
if found=$("$check" "$house"); then
  echo "two of one name passed" >&2
  exit 1
fi
expected='relay/watch/top/bad.h:2: Key is also a type of relay/store/keys.h
relay/watch/top/keys.h: its name is also that of relay/store/keys.h
relay/watch/top/keys.h:2: Line is also a type of relay/watch/top/good.h'
[ "$found" = "$expected" ] || {
  echo "$found" >&2
  exit 1
}
