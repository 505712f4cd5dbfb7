#!/bin/sh
# What the program's objects use of readline, as FUNCTION(…) and VARIABLE(…): names.sh CC OBJECT…
cc=$1
shift
library=$("$cc" -print-file-name=libreadline.so)
nm -u "$@" | awk '$1 == "U" { print $2 }' | sort -u | awk '
    NR == FNR { sub(/@.*/, "", $3); kind[$3] = $2; next }
    kind[$1] ~ /[TW]/ { print "FUNCTION(" $1 ")" }
    kind[$1] ~ /[BDR]/ { print "VARIABLE(" $1 ")" }' "$(nm -D --defined-only "$library" >"${TMPDIR:-/tmp}/names.$$" && echo "${TMPDIR:-/tmp}/names.$$")" -
rm -f "${TMPDIR:-/tmp}/names.$$"
