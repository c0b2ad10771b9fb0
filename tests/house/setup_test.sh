#!/bin/sh
# setup_test.sh <.ci>: what goes wrong on a new machine ends in a sentence that says what to do. Programs of the system are
# stubs in a directory that is the whole path.
set -eu
ci=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
mkdir "$bin"
for program in sh sed tr cut seq env grep awk head cat mkdir rm ls nproc touch wc; do
  ln -s "$(command -v "$program" || echo /bin/true)" "$bin/$program"
done
stub() {  # <name> <script>
  rm -f "$bin/$1"  # It may be a link to the system's own.
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
  env -i PATH="$bin" HOME="$work" http_proxy="${proxy:-}" no_proxy=inside "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$status" ] || fail "$what: status $got"
  printf %s "$texts" | while read -r text; do grep -qF -- "$text" "$work/out" || fail "$what: \"$text\" is not said"; done
}

stub dpkg-query 'exit 1'
stub id 'echo 1000'
stub apt-cache 'case $2 in libboost1.81-dev) ;; *) echo Package ;; esac'
expect "neither root nor sudo" 1 "let root run: apt-get update && apt-get install" "librocksdb-dev" "libboost1.82-dev" -- "$ci/install-deps" run

stub id 'echo 0'
stub apt-cache 'echo Package'
stub apt-get 'exit 100'
expect "apt fails" 1 "apt could not read its lists" "apt-get -f install" "run make again" -- "$ci/install-deps" run

stub apt-get 'case $* in *install*) exit 100 ;; esac'
expect "apt fails half-way" 1 "apt could not install all of them" "apt-get -f install" "run make again" -- "$ci/install-deps" run

stub apt-get 'echo "apt-get $*"'
stub apt-cache 'case $2 in libboost1.81-dev) ;; *) echo Package ;; esac'
expect "apt knows a name that no package has" 0 "libboost1.82-dev" -- "$ci/install-deps" run
! grep '^apt-get.*install' "$work/out" | grep -q 'libboost1.81-dev' || fail "a package that is none was to be installed"

expect "the library alone" 0 "librocksdb-dev" -- "$ci/install-deps" library
! grep '^apt-get.*install' "$work/out" | grep -qE 'boost|ssl|libpq|nghttp2|ccache' || fail "the library was to need more than RocksDB"

stub apt-cache ''
stub id 'echo 1000'
expect "neither root, nor sudo, nor lists" 1 "let root run apt-get update, and run make again" -- "$ci/install-deps" run
stub id 'echo 0'
expect "a system that is too old" 1 "apt knows no" "Ubuntu 24.04" -- "$ci/install-deps" run

stub apt-cache 'echo Package'
stub id 'echo 1000'
stub sudo 'echo "sudo $*"; exec "$@"'
proxy=http://proxy:3128 expect "a proxy" 0 "sudo env http_proxy=http://proxy:3128 no_proxy=inside" -- "$ci/install-deps" run

stub c++ 'case $1 in --version) echo "c++ 99.1" ;; esac'
stub cmake 'echo "cmake $*"; echo "$*" >>"$HOME/cmake-ran"'
stub ccache 'exec "$@"'
: >"$work/file"
expect "a build directory that cannot be" 1 "cannot be written to; BUILD=DIRECTORY" -- "$ci/configure" "$work/file/build" release OFF

# configured <directory> <for what>: one that cmake has made.
configured() {
  mkdir -p "$1"
  echo "CMAKE_PROJECT_NAME:STATIC=weir" >"$1/CMakeCache.txt"
  echo "$2" >"$1/configured-for"
  touch "$1/build.ninja"
}
configured "$work/a build" "release by c++ 12.2"
# anew <directory>: nothing is left of what cmake had made.
anew() { [ ! -e "$1/CMakeCache.txt" ] && [ ! -e "$1/build.ninja" ] || fail "$1 did not begin anew"; }
expect "another compiler's directory" 0 "was configured for release by c++ 12.2 and begins anew" \
  "-B $work/a build -DWEIR_TESTS=OFF" -- "$ci/configure" "$work/a build" release OFF
grep -qx -- "--build $work/a build --target clean" "$work/cmake-ran" || fail "what the other compiler made is still there"
anew "$work/a build"
configured "$work/a build" ""
expect "a directory whose compiler is not known" 0 "begins anew" -- "$ci/configure" "$work/a build" release OFF
anew "$work/a build"
configured "$work/a build" "release by c++ 99.1"
expect "a directory that is configured" 0 -- "$ci/configure" "$work/a build" release OFF
[ ! -s "$work/out" ] || fail "it was configured again"
expect "another preset's directory" 0 "was configured for release by c++ 99.1 and begins anew" "--preset debug" -- \
  "$ci/configure" "$work/a build" debug OFF
anew "$work/a build"
expect "tests are wanted too" 0 "-DWEIR_TESTS=ON" -- "$ci/configure" "$work/a build" debug ON
mkdir "$work/another's"
echo "CMAKE_PROJECT_NAME:STATIC=theirs" >"$work/another's/CMakeCache.txt"
expect "the build of something else" 1 "has the build of something else; BUILD=DIRECTORY" -- \
  "$ci/configure" "$work/another's" release OFF

real=$(command -v ccache || true)
if [ -n "$real" ] && command -v c++ >/dev/null; then
  got=0
  rm "$bin/ccache" "$bin/c++"
  # One that worked before, and knows the trial.
  CCACHE_DIR=$work/cache PATH=$bin:$PATH "$ci/configure" "$work/real" release OFF >"$work/out" 2>&1
  ! grep -q "compiling without it" "$work/out" || fail "a cache that works is not used"
  CCACHE_DIR=$work/cache CCACHE_TEMPDIR=$work/file/x PATH=$bin:$PATH "$ci/configure" "$work/real" release OFF >"$work/out" 2>&1 ||
    got=$?
  [ $got = 0 ] || fail "a cache that cannot be written to: status $got"
  grep -q "compiling without it" "$work/out" || fail "a cache that cannot be written to is not noticed"
  grep -q -- "-DWEIR_CCACHE=" "$work/out" || fail "it is not compiled without the cache"
  configured "$work/real" "$(cat "$work/real/configured-for")"
  echo "WEIR_CCACHE:FILEPATH=" >>"$work/real/CMakeCache.txt"
  PATH=$bin:$PATH "$ci/configure" "$work/real" release OFF >"$work/out" 2>&1
  grep -q -- "-UWEIR_CCACHE" "$work/out" || fail "a cache that works again is not used"
fi

# jobs <free kB> <limit of the container> <what it has taken> <of that, files> <jobs>, on eight cores
stub nproc 'echo 8'
mkdir "$work/cgroup"
while read -r free most used files jobs; do
  echo "MemAvailable: $free kB" >"$work/meminfo"
  echo "$most" >"$work/cgroup/memory.max"
  echo "$used" >"$work/cgroup/memory.current"
  echo "inactive_file $files" >"$work/cgroup/memory.stat"
  expect "jobs" 0 -- "$ci/jobs" "$work/meminfo" "$work/cgroup"
  [ "$(cat "$work/out")" = "$jobs" ] || fail "with $free kB, $used of $most taken: not $jobs jobs"
done <<TABLE
64000000 max 0 0 8
4000000 max 0 0 2
1000000 max 0 0 1
64000000 4000000000 500000000 0 2
64000000 4000000000 3900000000 0 1
64000000 4000000000 3900000000 3400000000 2
4000000 9223372036854771712 0 0 2
TABLE
expect "jobs of this machine" 0 -- "$ci/jobs"
grep -qx '[1-9][0-9]*' "$work/out" || fail "jobs is no number"
