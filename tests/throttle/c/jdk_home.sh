#!/bin/sh
# jdk_home.sh: prints the home of a JDK of 22 or later, which the Java package needs; fails if none is here.
set -eu
javac=$(command -v javac || true)
for home in "${JAVA_HOME:-}" "${javac:+$(dirname "$(dirname "$(readlink -f "$javac")")")}" /usr/lib/jvm/*; do
  release=$("$home/bin/javac" -version 2>/dev/null | sed -n 's/^javac \([0-9]*\).*/\1/p')
  if [ "${release:-0}" -ge 22 ]; then
    echo "$home"
    exit 0
  fi
done
exit 1
