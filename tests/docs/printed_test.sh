#!/bin/sh
# printed_test.sh <weir>: printed.py passes a page whose commands do what it prints, and no page that is wrong in one of these ways.
# Status 77, skipped: so does printed.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
: >none

printed() { "$here/printed.py" "$weir" page.md --not-run "${1:-none}"; }
# The page is what comes on standard input, where '~~~' stands for the mark of a block.
page() { sed 's/~~~/```/' >page.md; }
refuses() {  # <why> <what is said of it> [<table>]
  if printed "${3:-none}" >said 2>&1 || ! grep -qF -- "$2" said; then
    echo "$1: it passed, or was refused for something else:"
    cat said
    exit 1
  fi
}
weir=$1

page <<'PAGE'
`name.of` a file:

~~~text
of a river
~~~

~~~sh
weir gate     # in another terminal
~~~

~~~sh
cat name.of
# of …
curl -s localhost:3335/readyz
# ready
kept=here
~~~

~~~sh
test -z "$kept" && weir health --port 3335
~~~
PAGE
status=0
printed >said 2>&1 || status=$?
if [ $status != 0 ]; then cat said; exit $status; fi

printf '~~~sh\necho four\n# five\n~~~\n' | page
refuses "another output" "--- found"
printf '~~~sh\nfalse\ntrue\n~~~\n' | page
refuses "a command that fails" "--- printed"
printf '~~~sh\necho hi; false\n# hi\n~~~\n' | page
refuses "a command that fails beside the output" "it ended with 1"
printf -- '- Do:\n\n  ~~~sh\n  reboot\n  ~~~\n' | page
refuses "a block within a list" 'a block that no test sees: ```sh'
printf 'In `x.conf`:\n\n~~~sh\nreboot\n~~~\n' | page
refuses "a named block of commands" "written and not run: x.conf"
printf 'Do:\n\n    weir relay\n' | page
refuses "an indented block" "an indented block: weir relay"
printf '~~~\nweir relay\n~~~\n' | page
refuses "a block without a language" 'a block of "" and not of sh: weir relay'
printf '~~~sh\nreboot\n~~~\n' | page
printf '%s\treboot --now\tends the machine\n' "$(realpath --relative-to="$here/../.." page.md)" >table
refuses "a line of the table that is not there" "has no more: reboot --now" table
sed -i 's/reboot --now/reboot/' table
printed table
