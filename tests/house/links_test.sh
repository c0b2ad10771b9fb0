#!/bin/sh
# links_test.sh <check-links>: it passes links that lead somewhere, and names the line of each that does not.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir "$house/room"

printf '# Who may do what, and why\n\n![a](room/a.svg) and [b](room/README.md#the-map), [c](https://example.com/none), [d](#who-may-do-what-and-why)\n' \
  >"$house/README.md"
printf '## The map\n\n[up](../README.md)\n\n```js\nconst [a](nothing.md)\n```\n\n    [a](nothing.md)\n' >"$house/room/README.md"
touch "$house/room/a.svg"
"$check" "$house"

printf 'text\n[a](../room/README.md) [b](gone.md) [c](README.md#gone)\n[d](#gone)\n' >"$house/room/bad.md"
if found=$("$check" "$house"); then
  echo "dead links passed" >&2
  exit 1
fi
expected='./room/bad.md:2: gone.md is not there
./room/bad.md:2: ./room/README.md has no heading #gone
./room/bad.md:3: ./room/bad.md has no heading #gone'
if [ "$found" != "$expected" ]; then
  printf 'expected:\n%s\nfound:\n%s\n' "$expected" "$found" >&2
  exit 1
fi
