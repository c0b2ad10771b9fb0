# package_life.sh <overlay|fresh>, in the root where the package is to live: from its installation to its end.
set -eu
cd /packages
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
log=/run/weir.log

fail() {
  echo "package_life: $*" >&2
  if [ -e "$log" ]; then cat "$log" >&2; fi
  exit 1
}

if [ "$1" = fresh ]; then
  apt-get -qq update
  install() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "./$1"; }
else
  # Of another life on this machine.
  dpkg --purge weir >/dev/null 2>&1 || true
  install() { dpkg --install "./$1"; }
fi

# As the unit has it: its user, its environment, its command, without what root may.
unit=/usr/lib/systemd/system/weir-relay.service
cat >/run/as_weir <<'SCRIPT'
#!/bin/sh
export $(sed -n 's/^Environment=//p' "$0.service")
set -a
. /etc/weir/relay.env
exec setpriv --reuid "$(sed -n 's/^User=//p' "$0.service")" --regid weir --clear-groups --no-new-privs --bounding-set=-all "$@"
SCRIPT
chmod +x /run/as_weir
ln -s $unit /run/as_weir.service
start() {
  : >$log
  /run/as_weir $(sed -n 's/^ExecStart=//p' $unit) --port 0 2>$log &
  relay=$!
  for _ in $(seq 600); do
    kill -0 $relay 2>/dev/null || fail "the relay ended"
    url=$(sed -n 's|.*listening on ws\(://[0-9.:]*\).*|http\1|p' $log)
    [ -z "$url" ] || return 0
    sleep 0.1
  done
  fail "the relay does not listen"
}
stop() {
  kill $relay
  wait $relay || fail "the relay did not stop in order"
}
expect() {  # <what> <expected> <found>
  [ "$2" = "$3" ] || fail "$1: expected $2, found $3"
}

echo "== install"
install weir_old.deb
expect "the data directory" "drwx------ weir weir" "$(stat -c '%A %U %G' /var/lib/weir)"
expect "the gate's" "drwx------ weir-gate weir-gate" "$(stat -c '%A %U %G' /var/lib/weir-gate)"
expect "settings" "-rw-r----- root root" "$(stat -c '%A %U %G' /etc/weir/relay.env)"
for file in man/man1/weir.1.gz man/man1/weir-relay.1.gz man/man7/weir-settings.7.gz bash-completion/completions/weir \
  zsh/vendor-completions/_weir fish/vendor_completions.d/weir.fish; do
  # A small Debian may leave out man pages.
  dpkg-query -L weir | grep -qx "/usr/share/$file" || fail "the package has no $file"
done
if [ "$1" = fresh ]; then ldd /usr/bin/weir | grep 'not found' && fail "a library is missing"; fi
start
expect "/readyz" ready "$(weir health "$url")"
/run/as_weir weir import --quiet /packages/real_events.jsonl
events=$(/run/as_weir weir scan --count '{}')
[ "$events" -gt 0 ] || fail "no event was stored"
expect "events beside the relay" "$events" "$(/run/as_weir weir scan --count '{}')"
echo 'WEIR_RELAY_NAME=of-this-machine' >>/etc/weir/relay.env
stop

echo "== upgrade"
install weir_new.deb
expect "the version" 99.0.0 "$(dpkg-query -W -f '${Version}' weir)"
expect "the operator's setting" 1 "$(grep -c of-this-machine /etc/weir/relay.env)"
start
expect "/readyz" ready "$(weir health "$url")"
expect "events" "$events" "$(/run/as_weir weir scan --count '{}')"
stop

echo "== remove, and install again"
dpkg --remove weir
command -v weir >/dev/null && fail "the program is still there"
expect "the operator's setting" 1 "$(grep -c of-this-machine /etc/weir/relay.env)"
install weir_new.deb
start
expect "events" "$events" "$(/run/as_weir weir scan --count '{}')"
stop

echo "== purge"
dpkg --purge weir
for gone in /etc/weir /var/lib/weir /var/lib/weir-gate /usr/lib/systemd/system/weir-relay.service; do
  [ ! -e $gone ] || fail "$gone is still there"
done
echo "$events events lived through an upgrade and a removal, and went with the purge"
