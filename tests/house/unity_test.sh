#!/bin/sh
# unity_test.sh <check-unity>: it passes names that may be equal, and tells of those that may not.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/relay/net" "$house/relay/store"
echo 'weir_glob(sources *.cc EXCLUDE "_command\\.cc$")' | tee "$house/relay/net/CMakeLists.txt" >"$house/relay/store/CMakeLists.txt"

# file <path>: a source whose anonymous namespace has what standard input has.
file() {
  { printf 'namespace weir {\nnamespace {\n\n'; cat; printf '\n}  // namespace\n\nint Open() { return 1; }\n\n}  // namespace weir\n'; } \
    >"$house/relay/$1"
}

file net/one.cc <<'TEXT'
using Code = HttpCode;
constexpr int kMost = 1;
struct Waiting {
  int kLeast = 1;
};
int CountOf(const std::string& text) { return 1; }
const char* const kTable[] = {
    "a",
};
constexpr const char* kText = R"x(
int kLeast = 2;
)x";
TEXT
file net/two.cc <<'TEXT'
using Code = HttpCode;
int CountOf(const std::string& text, int most = 1) { return kMost; }
int kLeast = 3;
TEXT
file net/three_command.cc <"$house/relay/net/one.cc"
file store/one.cc <"$house/relay/net/one.cc"
"$check" "$house"

file net/bad.cc <<'TEXT'
using Code = int;
// The most.
constexpr int kMost{2};
enum class Waiting { kYes };
int CountOf(
    const std::string& words) {
  return 2;
}
const int kTable = 2;
TEXT
if found=$("$check" "$house"); then
  echo "equal names passed" >&2
  exit 1
fi
expected='relay/net/one.cc:10: kTable is also in relay/net/bad.cc:12
relay/net/one.cc:4: Code is also in relay/net/bad.cc:4
relay/net/one.cc:5: kMost is also in relay/net/bad.cc:6
relay/net/one.cc:6: Waiting is also in relay/net/bad.cc:7
relay/net/one.cc:9: CountOf(const std::string&) is also in relay/net/bad.cc:8
relay/net/two.cc:4: Code is also in relay/net/bad.cc:4'
[ "$found" = "$expected" ] || {
  echo "$found" >&2
  exit 1
}
