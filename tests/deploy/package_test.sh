#!/bin/sh
# package_test.sh <build directory> [fresh]: makes the Debian package, and installs, starts, upgrades, removes and purges it in a
# root of its own: what this machine has with the package on top, or, `fresh`, a Debian that has nothing (minutes, and apt).
# Status 77, skipped: it needs root, and dpkg-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
kind=${2:-overlay}
work=$build/tests/deb-$kind

skip() {
  echo "skipped: $1"
  exit 77
}
command -v dpkg-shlibdeps >/dev/null || skip "dpkg-shlibdeps is not here; it comes with dpkg-dev"
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/packages"

echo "== the package, and one of a later version"
revision=1~deb12.bookworm
DEB_REVISION=$revision cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/cpack" >"$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; exit 1; }
version=$("$build/weir" --version | cut -d' ' -f2)-$revision
mv "$work"/cpack/weir_"$version"_*.deb "$work/packages/weir_old.deb"
packed=$(dpkg-deb -f "$work/packages/weir_old.deb" Version)
[ "$packed" = "$version" ] || { echo "the package says version $packed, and the program with the revision $version" >&2; exit 1; }
dpkg-deb -R "$work/packages/weir_old.deb" "$work/later"
sed -i 's/^Version: .*/Version: 99.0.0/' "$work/later/DEBIAN/control"
dpkg-deb --root-owner-group -b "$work/later" "$work/packages/weir_new.deb" >/dev/null
dpkg-deb -f "$work/packages/weir_old.deb" Package Version Installed-Size Depends
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$work/packages/weir_old.deb"
else
  echo "lintian is not here: what it would say is not known"
fi

unshare --mount --pid --fork true 2>/dev/null || skip "to install it in a root of its own needs root, and namespaces"
cp "$here/package_life.sh" "$here/../relay/nostr/data/real_events.jsonl" "$work/packages"
mkdir "$work/upper" "$work/overlay" "$work/root"
if [ "$kind" = fresh ]; then
  command -v mmdebstrap >/dev/null || skip "mmdebstrap is not here"
  . /etc/os-release
  sources=$(grep -sE -l " $VERSION_CODENAME( |\$)" /etc/apt/sources.list /etc/apt/sources.list.d/* || true)
  cat $sources | mmdebstrap --variant=apt --include=ca-certificates "$VERSION_CODENAME" "$work/fresh" -
fi

# In namespaces of its own: what it mounts and starts ends with it.
export kind work
unshare --mount --pid --fork --kill-child --mount-proc sh -eu <<'INSIDE'
lower=/
if [ "$kind" = fresh ]; then lower=$work/fresh; fi
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/overlay" "$work/root" || {
  echo "skipped: the file system has no overlays"
  exit 77
}
mkdir -p "$work/root/packages"
mount --bind "$work/packages" "$work/root/packages"
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
mount -t tmpfs tmpfs "$work/root/run"
mount -t tmpfs tmpfs "$work/root/tmp"
if [ "$kind" = fresh ]; then
  cp /etc/resolv.conf "$work/root/etc/"
  cp -a /etc/apt/apt.conf.d/. "$work/root/etc/apt/apt.conf.d/"
fi
exec chroot "$work/root" sh /packages/package_life.sh "$kind"
INSIDE
