#!/bin/sh
# kafka_streams_peer.sh <libweir.so> <the repository> [<seconds>]: the stores for Kafka Streams, their page, and the example beside a Kafka;
# or only the example, for so many seconds. Status 77, skipped: no JDK of 22 or later is here, or .ci/test-tools has not brought the jars.
set -eu
library=$1
house=$2
. "$house/tests/throttle/c/java_tools.sh"
jars=$house/build/tools
ls "$jars"/kafka/kafka-streams-*.jar "$jars"/java-peers/junit-*.jar >/dev/null 2>&1 || skip "no Kafka is here (.ci/test-tools brings it)"

classes_of "$package/KAFKA-STREAMS.md" 1
path=$work/classes:$jars/kafka/*:$(echo "$jars"/java-peers/junit-*.jar "$jars"/java-peers/hamcrest-*.jar | tr ' ' :)
sources=$package/src/main/java/io/weir/throttle
compile -d "$work/classes" -cp "$path" "$sources"/*.java "$sources"/streams/*.java
compile -d "$work/classes" -cp "$path" "$tests"/streams/*.java "$package"/example/streams/*.java "$work"/page/*.java
export PATH="$jdk/bin:$PATH"  # for the Kafka, too
beside_kafka=$house/tests/throttle/c/beside_kafka.py
if [ $# -gt 2 ]; then
  "$beside_kafka" "$jdk/bin/java" $options -cp "$path" Backfill "$3"
  exit
fi
"$jdk/bin/java" $options -cp "$path" org.junit.runner.JUnitCore io.weir.throttle.streams.ThrottledStoresTest
"$beside_kafka" "$house/tests/throttle/c/stalls_less.sh" "$jdk/bin/java" $options -cp "$path" Backfill
