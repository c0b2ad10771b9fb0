#!/bin/sh
# examples_are_quoted.sh <source> <README>: each example of the source, from the line after "// example:" to the one before
# "// end of example", is a code block of the README, word for word. Names those that are not.
set -eu
awk '
  FNR == 1 { file++ }
  file == 1 && /^\/\/ example: / { name = substr($0, 13); text = ""; inside = 1; next }
  file == 1 && /^\/\/ end of example$/ { example[name] = text; inside = 0; next }
  file == 1 { if (inside) text = text $0 "\n"; next }
  /^```/ { if (inside) quoted[text] = 1; inside = !inside; text = ""; next }
  inside { text = text $0 "\n" }
  END {
    for (name in example) {
      examples++
      if (!(example[name] in quoted)) { print FILENAME " does not quote the example \"" name "\" as it is compiled"; missing++ }
    }
    if (!examples) { print "no examples found"; missing++ }
    exit missing > 0
  }
' "$1" "$2"
