#!/bin/sh
# release_life.sh <unpacked tarball> <directory> <version>: runs the program from the tarball, with its data in the directory. All
# its shared libraries must be the tarball's, and glibc's.
set -eu
top=$1 data=$2/data log=$2/weir.log

fail() {
  echo "release_life: $*" >&2
  if [ -e "$log" ]; then cat "$log" >&2; fi
  exit 1
}
# The linker would look there before it looks into the tarball.
unset LD_LIBRARY_PATH LD_PRELOAD

says=$("$top/bin/weir" --version)
[ "$says" = "weir $3" ] || fail "bin/weir says \"$says\", and not \"weir $3\""

"$top/bin/weir" relay --port 0 --data-dir "$data" >"$log" 2>&1 &
relay=$!
trap 'kill -KILL $relay 2>/dev/null || true' EXIT
url=
for _ in $(seq 1200); do
  kill -0 $relay 2>/dev/null || fail "the relay ended"
  url=$(sed -n 's|.*listening on ws\(://[0-9.:]*\).*|http\1|p' "$log")
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || fail "the relay does not listen"
"$top/bin/weir" health "$url" || fail "the relay is not well"

loaded=$(sed -n 's/.* \(\/.*[.]so\([.].*\)\?\)$/\1/p' /proc/$relay/maps | sort -u)
echo "$loaded" | grep -qF "$top/lib/librocksdb.so." || fail "the relay has librocksdb from elsewhere: $loaded"
foreign=$(echo "$loaded" | grep -vF "$top/lib/" | grep -vE '/(ld-linux[^/]*|lib(c|m|pthread|dl|rt|resolv|nss_[a-z]+))\.so' || true)
[ -z "$foreign" ] || fail "the relay has libraries from elsewhere: $foreign"
echo "$(echo "$loaded" | grep -cF "$top/lib/") libraries are the tarball's; of the system are" \
  "$(echo "$loaded" | grep -vF "$top/lib/" | sed 's/.*\///' | tr '\n' ' ')"

kill $relay
wait $relay || fail "the relay did not stop in order"
trap - EXIT
