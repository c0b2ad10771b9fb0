#!/bin/sh
# java_peer.sh <libweir.so> <the repository>: the Java package, its page and its example against rocksdbjni, of Maven, in two
# versions. Status 77, skipped: no JDK of 22 or later is here, or .ci/test-tools has not brought the jars.
set -eu
library=$1
house=$2
. "$house/tests/throttle/c/java_tools.sh"
jars=$house/build/tools/java-peers
ls "$jars"/rocksdbjni-*.jar "$jars"/junit-*.jar >/dev/null 2>&1 || skip "no rocksdbjni is here (.ci/test-tools brings it)"

classes_of "$package/README.md" 2
for rocksdb in "$jars"/rocksdbjni-*.jar; do
  version=$(basename "$rocksdb" .jar)
  path=$work/$version:$rocksdb:$(echo "$jars"/junit-*.jar "$jars"/hamcrest-*.jar | tr ' ' :)
  compile -d "$work/$version" -cp "$path" "$package"/src/main/java/io/weir/throttle/*.java
  compile -d "$work/$version" -cp "$path" "$tests"/*.java "$package"/example/*.java "$work"/page/*.java
  "$jdk/bin/java" $options -cp "$path" org.junit.runner.JUnitCore ThrottleTest RocksDbJniTest
  echo "== $version"
  "$house/tests/throttle/c/stalls_less.sh" "$jdk/bin/java" $options -cp "$path" BulkLoad
done
