#!/bin/sh
# completion_test.sh <bash|zsh|fish> <weir>: the script for that shell completes commands, subcommands, flags, values and files.
# Status 77, skipped: the shell is not here.
set -eu
shell=$1
weir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v "$shell" >/dev/null || { echo "skipped: $shell is not here"; exit 77; }
ln -s "$weir" "$work/weir"
PATH=$work:$PATH
export PATH HOME="$work" XDG_CONFIG_HOME="$work"
weir completion "$shell" >"$work/script"
mkdir "$work/here"
cd "$work/here"
touch events.jsonl 'of a river.jsonl'

# What the shell would offer behind the line that stands in $1, sorted, with blanks between.
cat >"$work/ask.bash" <<'BASH'
. ../script
compopt() { :; }  # nothing is being completed at a terminal
eval "COMP_WORDS=($1)"
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_weir
printf '%s\n' "${COMPREPLY[@]}"
BASH
cat >"$work/ask.zsh" <<'ZSH'
autoload -U compinit && compinit -D -u
. ../script
_describe() { print -l -- ${choices%%:*} }  # which draw at a terminal
_files() { print -l -- ${words[CURRENT]}*(N) }
compset() { : }
words=(${(z)1})
[[ $1 == *' ' ]] && words+=('')
CURRENT=$#words
_weir
ZSH
cat >"$work/ask.fish" <<'FISH'
source ../script
complete -C "$argv[1]" | string replace -r '\t.*' ''
FISH

failed=0
expect() {  # <line> <choices>
  found=$("$shell" "../ask.$shell" "$1" | sort | paste -sd ' ')
  [ "$found" = "$2" ] && return
  printf '%s: expected %s\n  found %s\n' "$1" "$2" "$found"
  failed=1
}
expect 'weir im' 'import'
expect 'weir do' 'doctor'
expect 'weir quota re' 'record refund reserve reset'
expect 'weir admin unb' 'unban unban-event unblock'
expect 'weir import --re' '--rejects --relay --resume'
expect 'weir import --summary ' 'json text'
expect 'weir import --dry-run e' 'events.jsonl'
expect 'weir quota decide --q' '--qos'
expect 'weir import --threads ' ''
expect 'weir completion ' 'bash fish zsh'
exit $failed
