#!/bin/sh
# man_test.sh <shared-files> <weir>: each command has a page with all its flags, and neither groff nor mandoc complains of one.
# Status 77, skipped: one of them is not here, and of the rest nothing is wrong.
set -eu
weir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$weir" "$work/share"
gunzip "$work"/share/man/*/*.gz
cd "$work/share/man"
failed=0
complain() {
  echo "$*"
  failed=1
}

for command in $("$weir" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  page=man1/weir-$command.1
  [ -s "$page" ] || complain "weir $command has no page"
  grep -qF "weir\\-$command" man1/weir.1 || complain "weir.1 does not name weir-$command"
  for flag in $("$weir" "$command" --help | sed -n 's/^  \(-[a-z],\)\{0,1\}--\([a-z-]*\).*/\2/p'); do
    grep -q "^[.]B .*$(echo "\\-\\-$flag" | sed 's/\([\\]\)/\\\1/g; s/\([a-z]\)-/\1\\\\-/g')" "$page" || complain "$page does not tell --$flag"
  done
done
[ -s man1/weir.1 ] && [ -s man7/weir-settings.7 ]

skipped=
for page in man1/* man7/*; do
  if command -v groff >/dev/null; then
    said=$(groff -man -ww -z "$page" 2>&1) || true
    [ -z "$said" ] || complain "groff: $said"
  else
    skipped="$skipped groff-base"
  fi
  if command -v mandoc >/dev/null; then
    said=$(mandoc -T lint -W warning "$page" 2>&1) || true
    [ -z "$said" ] || complain "$said"
  else
    skipped="$skipped mandoc"
  fi
done
[ $failed = 0 ] || exit 1
[ -z "$skipped" ] || { echo "skipped: not here is$(echo "$skipped" | tr ' ' '\n' | sort -u | tr '\n' ' ')"; exit 77; }
