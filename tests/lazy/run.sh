#!/bin/bash
# Golden programs inside `lazy { … }`: they print what their .out says. tests/lazy/run.sh quick | all
#   RICCI   the binary under test      tests/lazy/skip.txt   programs left out, each with the reason
# The block opens on the first line and closes behind the last, so that lines stay where they are. Notices and
# errors that nobody caught are not compared: a block tells them when it runs.
set -u
cd "$(dirname "$0")/../.."
RICCI=${RICCI:-$PWD/build/ricci}
export LC_ALL=C.UTF-8 TERM=dumb RICCI_PATH= COLUMNS=80
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-lazy.XXXXXX")
trap 'rm -rf "$work"' EXIT
QUICK="fuse steps reduce ops shape dtype values einsum index linalg"
case ${1:-all} in
quick) pick=$(printf '^tests/lang/(%s)/' "${QUICK// /|}") ;;
*) pick=. ;;
esac
"$RICCI" -e 'on opencl { }' >/dev/null 2>&1 || { echo "not run: lazy tests/lang/opencl: no OpenCL platform"; no=tests/lang/opencl/; }
mkdir "$work/tests"
cp -r tests/lang tests/regress "$work/tests"
ln -s "$PWD/examples" "$PWD/build" "$PWD/stdlib" "$work"
find tests/lang tests/regress -name '*.ric' ! -path '*/lib/*' | grep -E "$pick" | grep -v "^${no:-#}" | LC_ALL=C sort >"$work/all"
awk 'NR == FNR { if ($1 && $1 != "#") skip[$1]; next } !($1 in skip)' tests/lazy/skip.txt "$work/all" >"$work/chosen"

one() {             # FILE OUTPUT
    local file=$work/$1 status
    { printf 'lazy { '; cat "$1"; printf '\n}\n'; } >"$file"
    (cd "$(dirname "$file")" && timeout "${EACH:-60}" "$RICCI" --no-notices "$(basename "$file")") </dev/null >"$2.got" 2>"$2.err"
    status=$?
    if [ -f "${1%.ric}.sed" ]; then sed -E -i -f "${1%.ric}.sed" "$2.got"; fi
    awk '/^--- (stderr|exit)/ { exit } { print }' "${1%.ric}.out" >"$2.want"
    [ "$status" = "$(sed -n 's/^--- exit //p' "${1%.ric}.out" | grep . || echo 0)" ] || echo "exit $status" >>"$2.got"
    if ! diff "$2.want" "$2.got" >"$2.diff"; then
        echo "FAIL lazy $1"
        { head -6 "$2.diff"; head -3 "$2.err"; } | cut -c1-160 | sed 's/^/    /'
        return 1
    fi
}
part() {            # PART
    local good=0 bad=0 file
    while IFS= read -r file; do
        if one "$file" "$work/$1"; then good=$((good + 1)); else bad=$((bad + 1)); fi
    done < <(awk "NR % $jobs == $1" "$work/chosen")
    echo "$good $bad" >"$work/count.$1"
}
for ((k = 0; k < jobs; k++)); do part "$k" >"$work/shown.$k" & done
wait
cat "$work"/shown.*
awk '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$work"/count.*
