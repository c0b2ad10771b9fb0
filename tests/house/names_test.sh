#!/bin/sh
# names_test.sh <check-names>: it passes names that cannot be mistaken for each other, and tells of those that can.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/relay/top" "$house/relay/store"

printf 'struct Key {\n};\nclass Line;\n' >"$house/relay/store/keys.h"
printf 'template <typename T>\nclass Key {\n};\nclass Line final : public X {\n};\n' >"$house/relay/top/good.h"
printf 'namespace {\n\nenum class Key {\n};\n\n}  // namespace\n' >"$house/relay/top/good.cc"
"$check" "$house"

printf '\nenum class Key : uint8_t { kUp };\n' >"$house/relay/top/bad.h"
if found=$("$check" "$house"); then
  echo "two of one name passed" >&2
  exit 1
fi
[ "$found" = "relay/top/bad.h:2: Key is also a type of relay/store/keys.h" ] || {
  echo "$found" >&2
  exit 1
}
