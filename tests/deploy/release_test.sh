#!/bin/sh
# release_test.sh <build directory>: makes a release's tarball, SBOM and sums of what is built, and compares what each says. It
# runs the unpacked program here, and in the bare roots that `make fresh` made, where there are any and root runs this.
# Status 77, skipped: this is no Debian, or has no python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
house=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
work=$build/tests/release
cd "$house"

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "release_test: $*" >&2
  exit 1
}
command -v dpkg-query >/dev/null || skip "dpkg-query is not here; the tarball is made of Debian's packages"
[ -x /usr/bin/python3 ] || skip "python3 is not here"
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/unpacked"

echo "== the version"
version=$("$build/weir" --version | cut -d' ' -f2)
grep -q "^project(weir VERSION $version " CMakeLists.txt || fail "weir says version $version, and CMakeLists.txt another one; build again"
grep -qxF "set(CPACK_PACKAGE_VERSION \"$version\")" "$build/CPackConfig.cmake" || fail "the Debian package does not say $version"
# Other package managers read the version from files of their own, which cannot take it from there.
manifests="throttle/c/node/package.json throttle/c/java/pom.xml throttle/c/python/pyproject.toml throttle/c/rust/Cargo.toml
  throttle/c/rust/Cargo.lock deploy/vcpkg/ports/weir-throttle/vcpkg.json deploy/vcpkg/versions/w-/weir-throttle.json
  deploy/vcpkg/versions/baseline.json deploy/conan/recipes/weir-throttle/config.yml"
for manifest in $manifests; do
  grep -qwF -- "$version" "$manifest" || fail "$manifest must have version $version"
done
repeated=$(grep -rnwF --exclude='*.md' -- "$version" CMakeLists.txt CMakePresets.json Makefile main.cc .cmake .ci config monitors \
  throttle relay import bench deploy | grep -v '^CMakeLists.txt:[0-9]*:project(weir ' |
  grep -vF "$(for manifest in $manifests; do echo "$manifest:"; done)" || true)
[ -z "$repeated" ] || fail "CMakeLists.txt alone tells the version; let these places take it from there:
$repeated"

echo "== the tarball"
deploy/release "$build" "$work/made"
(cd "$work/made" && ls -s && sha256sum -c SHA256SUMS)
tar -xzf "$work"/made/weir-"$version"-linux-*.tar.gz -C "$work/unpacked"
top=$(echo "$work"/unpacked/weir-"$version"-linux-*)
for file in LICENSE CHANGELOG.md README.md lib/systemd/system/weir-relay.service share/man/man1/weir.1.gz \
  share/bash-completion/completions/weir share/doc/weir/licences/zlib1g; do
  [ -s "$top/$file" ] || fail "the tarball has no $file"
done

echo "== the SBOM"
/usr/bin/python3 - "$work/made/weir-$version.spdx.json" "$top" "$version" <<'EOS'
import hashlib, json, os, sys
from urllib.parse import quote
sbom, top, version = json.load(open(sys.argv[1], encoding="utf-8")), sys.argv[2], sys.argv[3]
packages = {package["SPDXID"]: package for package in sbom["packages"]}
assert sbom["spdxVersion"] == "SPDX-2.3" and len(packages) == len(sbom["packages"])
assert packages["SPDXRef-weir"]["versionInfo"] == version, packages["SPDXRef-weir"]
files = {package["packageFileName"]: package for package in packages.values() if "packageFileName" in package}
libraries = {f"lib/{name}" for name in os.listdir(f"{top}/lib") if ".so" in name}
assert libraries == {name for name in files if name.startswith("lib/")}, libraries ^ files.keys()
for name in libraries:
    found = hashlib.sha256(open(f"{top}/{name}", "rb").read()).hexdigest()
    assert files[name]["checksums"] == [{"algorithm": "SHA256", "checksumValue": found}], name
    url = files[name]["externalRefs"][0]["referenceLocator"]
    assert url.startswith("pkg:deb/") and f"/{quote(files[name]['name'])}@" in url and "?arch=" in url, url
assert any(package["name"].startswith("librocksdb") for package in packages.values())
related = {(one["spdxElementId"], one["relationshipType"], one["relatedSpdxElement"]) for one in sbom["relationships"]}
for part in packages.keys() - {"SPDXRef-weir"}:
    assert {("SPDXRef-weir", kind, part) for kind in ("CONTAINS", "DEPENDS_ON")} <= related, part
print(f"{len(packages)} packages, {len(libraries)} libraries")
EOS

echo "== the unpacked program"
"$here/release_life.sh" "$top" "$work" "$version"

# A glibc that is older than this one's is not for the program.
grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || exit 0
unshare --mount --pid --fork true 2>/dev/null || exit 0
cp "$here/release_life.sh" "$work"
for whole in "$house"/build/fresh/*.bare/.whole; do
  [ -e "$whole" ] || continue
  root=$(dirname "$whole")
  echo "== the unpacked program in $(basename "$root")"
  root=$root work=$work top=/mnt/${top#"$work/"} version=$version unshare --mount --pid --fork --kill-child --mount-proc sh -eu <<'INSIDE'
mount --bind "$work" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh /mnt/release_life.sh "$top" /tmp "$version"
INSIDE
done
