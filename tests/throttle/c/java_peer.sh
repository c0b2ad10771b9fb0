#!/bin/sh
# java_peer.sh <libweir.so> <the repository>: the Java package, its page and its example against rocksdbjni, of Maven, in two
# versions. Status 77, skipped: no JDK of 22 or later is here, or .ci/test-tools has not brought the jars.
set -eu
WEIR_LIBRARY=$1
export WEIR_LIBRARY
house=$2
package=$house/throttle/c/java
tests=$house/tests/throttle/c/java
jars=$house/build/tools/java-peers

skip() { echo "skipped: $1"; exit 77; }

jdk=$("$house/tests/throttle/c/jdk_home.sh") || skip "no JDK of 22 or later is here"
ls "$jars"/rocksdbjni-*.jar "$jars"/junit-*.jar >/dev/null 2>&1 || skip "no rocksdbjni is here (.ci/test-tools brings it)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
options="--enable-native-access=ALL-UNNAMED -Djava.io.tmpdir=$work -Xmx256m -XX:TieredStopAtLevel=1"
compile() { "$jdk/bin/javac" --release 22 -Xlint:all,-processing,-serial,-path,-restricted -Werror "$@"; }

# Each block of the page is a class.
mkdir "$work/page"
awk -v to="$work/page" '
  /^```/ { if (within) close(file); within = $0 == "```java"; text = ""; file = "" }
  within && !/^```/ {
    text = text $0 "\n"
    if (file == "" && $1 == "class") file = to "/" $2 ".java"
    if ($0 == "}") printf "%s", text > file
  }
' "$package/README.md"
[ "$(ls "$work/page" | wc -l)" -eq 2 ] || { echo "the page has not the two classes that it had"; exit 1; }

for rocksdb in "$jars"/rocksdbjni-*.jar; do
  version=$(basename "$rocksdb" .jar)
  path=$work/$version:$rocksdb:$(echo "$jars"/junit-*.jar "$jars"/hamcrest-*.jar | tr ' ' :)
  compile -d "$work/$version" -cp "$path" "$package"/src/main/java/io/weir/throttle/*.java
  compile -d "$work/$version" -cp "$path" "$tests"/*.java "$package"/example/*.java "$work"/page/*.java
  "$jdk/bin/java" $options -cp "$path" org.junit.runner.JUnitCore ThrottleTest RocksDbJniTest
  echo "== $version"
  "$house/tests/throttle/c/stalls_less.sh" "$jdk/bin/java" $options -cp "$path" BulkLoad
done
