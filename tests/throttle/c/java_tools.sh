# Sourced by tests of the Java package, which set `library` and `house` before. Leaves a directory, $work, and the JDK, $jdk. Status 77,
# skipped: no JDK of 22 or later is here.
export WEIR_LIBRARY="$library"
package=$house/throttle/c/java
tests=$house/tests/throttle/c/java

skip() { echo "skipped: $1"; exit 77; }
jdk=$("$house/tests/throttle/c/jdk_home.sh") || skip "no JDK of 22 or later is here"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
options="--enable-native-access=ALL-UNNAMED -Djava.io.tmpdir=$work -Xmx256m -XX:TieredStopAtLevel=1"
compile() { "$jdk/bin/javac" --release 22 -Xlint:all,-processing,-serial,-path,-restricted -Werror "$@"; }

# classes_of <page> <how many>: puts them into $work/page. Each block of the page is a class.
classes_of() {
  mkdir "$work/page"
  awk -v to="$work/page" '
    /^```/ { if (within) close(file); within = $0 == "```java"; text = ""; file = "" }
    within && !/^```/ {
      text = text $0 "\n"
      if (file == "" && $1 == "class") file = to "/" $2 ".java"
      if ($0 == "}") printf "%s", text > file
    }
  ' "$1"
  [ "$(ls "$work/page" | wc -l)" -eq "$2" ] || { echo "$1 has not the $2 classes that it had"; exit 1; }
}
