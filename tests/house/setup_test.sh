#!/bin/sh
# setup_test.sh <.ci>: what goes wrong on a new machine ends in a sentence that says what to do. Programs of the system are
# stubs in a directory that is the whole path.
set -eu
ci=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
mkdir "$bin"
for program in sh sed tr cut seq env grep awk head cat mkdir rm ls nproc; do
  ln -s "$(command -v "$program" || echo /bin/true)" "$bin/$program"
done
stub() {  # <name> <script>
  printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
  chmod +x "$bin/$1"
}
fail() {
  echo "setup_test: $1" >&2
  cat "$work/out" >&2
  exit 1
}
# expect <what> <status> <text that must be there>… -- command…
expect() {
  what=$1 status=$2
  shift 2
  texts=""
  while [ "$1" != -- ]; do texts="$texts$1
"; shift; done
  shift
  got=0
  env -i PATH="$bin" HOME="$work" http_proxy="${proxy:-}" "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$status" ] || fail "$what: status $got"
  printf %s "$texts" | while read -r text; do grep -qF -- "$text" "$work/out" || fail "$what: \"$text\" is not said"; done
}

stub dpkg-query 'exit 1'
stub id 'echo 1000'
stub apt-cache 'case $2 in libboost1.81-dev) ;; *) echo Package ;; esac'
expect "neither root nor sudo" 1 "let root run: apt-get install" "librocksdb-dev" "libboost1.82-dev" -- "$ci/install-deps" run

stub id 'echo 0'
stub apt-cache 'echo Package'
stub apt-get 'exit 100'
expect "apt fails" 1 "apt could not read its lists" "apt-get -f install" "run make again" -- "$ci/install-deps" run

stub apt-get 'echo "apt-get $*"'
stub apt-cache 'case $2 in libboost1.81-dev) ;; *) echo Package ;; esac'
expect "apt knows a name that no package has" 0 "libboost1.82-dev" -- "$ci/install-deps" run
! grep '^apt-get.*install' "$work/out" | grep -q 'libboost1.81-dev' || fail "a package that is none was to be installed"

stub apt-cache ''
expect "a system that is too old" 1 "apt knows no" "Ubuntu 24.04" -- "$ci/install-deps" run

stub apt-cache 'echo Package'
stub id 'echo 1000'
stub sudo 'echo "sudo $*"; exec "$@"'
proxy=http://proxy:3128 expect "a proxy" 0 "sudo env http_proxy=http://proxy:3128" -- "$ci/install-deps" run

stub c++ 'case $1 in --version) echo "c++ 99.1" ;; esac'
stub cmake 'echo "cmake $*"'
stub ccache 'exec "$@"'
: >"$work/file"
expect "a build directory that cannot be" 1 "cannot be written to; BUILD=DIRECTORY" -- "$ci/configure" "$work/file/build" release OFF

mkdir "$work/a build"
echo "c++ 12.2" >"$work/a build/compiler"
touch "$work/a build/old" "$work/a build/build.ninja"
expect "another compiler's directory" 0 "is of another compiler (c++ 12.2) and begins anew" "-DWEIR_TESTS=OFF" -- \
  "$ci/configure" "$work/a build" release OFF
[ ! -e "$work/a build/old" ] || fail "what the other compiler made is still there"
mkdir "$work/of none"
touch "$work/of none/build.ninja"
expect "a directory whose compiler is not known" 0 "begins anew" -- "$ci/configure" "$work/of none" release OFF
touch "$work/a build/build.ninja"
expect "a directory that is configured" 0 -- "$ci/configure" "$work/a build" release OFF
[ ! -s "$work/out" ] || fail "it was configured again"
expect "tests are wanted too" 0 "-DWEIR_TESTS=ON" -- "$ci/configure" "$work/a build" release ON

real=$(command -v ccache || true)
if [ -n "$real" ] && command -v c++ >/dev/null; then
  got=0
  rm "$bin/ccache" "$bin/c++"
  CCACHE_DIR=$work/file/x PATH=$bin:$PATH "$ci/configure" "$work/real" release OFF >"$work/out" 2>&1 || got=$?
  [ $got = 0 ] || fail "a cache that cannot be written to: status $got"
  grep -q "compiling without it" "$work/out" || fail "a cache that cannot be written to is not noticed"
  grep -q -- "-DWEIR_CCACHE=" "$work/out" || fail "it is not compiled without the cache"
  touch "$work/real/build.ninja"
  echo "WEIR_CCACHE:FILEPATH=" >"$work/real/CMakeCache.txt"
  PATH=$bin:$PATH "$ci/configure" "$work/real" release OFF >"$work/out" 2>&1
  grep -q -- "-UWEIR_CCACHE" "$work/out" || fail "a cache that works again is not used"
fi

expect "jobs" 0 -- "$ci/jobs"
grep -qx '[1-9][0-9]*' "$work/out" || fail "jobs is no number"
