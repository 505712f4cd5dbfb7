#!/bin/bash
# Every program under tests/lang once more inside of a device block, on a simulated device that has all
# rows and dtypes: what it prints and how it ends must not change. The device's memory is its own, and
# the host's side of what lies there cannot be read, so a copy that was forgotten shows itself.
#   tests/devices/same.sh [FOLDER under tests/lang…]     RICCI: the binary     SHOW=1: differences too     DEVICE: another one
set -u
cd "$(dirname "$0")/../.."
RICCI=${RICCI:-$PWD/build/ricci}
export LC_ALL=C.UTF-8 TERM=dumb RICCI_PATH= COLUMNS=80
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-same.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -r tests/lang "$work/lang"
passed=0 failed=0
toy=${DEVICE:-'simulate("same", dtypes=[bool, i8, u8, i32, i64, f16, bf16, f32, f64, c64, c128])'}

# The program in one block, or (MIX=1) each plain assignment in a block of its own, so that what is made
# there is used outside.
placed() {              # FILE
    if [ -z "${MIX:-}" ]; then printf 'on (%s) quiet { ' "$toy"; cat "$1"; echo; echo '}'; return; fi
    printf 'toy_ = %s; ' "$toy"
    awk '/^[A-Za-z_][A-Za-z_0-9]* = [^{}#\\]*$/ && !/[-+*\/,=|(\[]$/ && !/->|import/ {
             line = $0
             if (gsub(/[(\[]/, "&", line) == gsub(/[)\]]/, "&", line)) { print "on (toy_) quiet { " $0 " }"; next } }
         { print }' "$1"
}

# What explains, times or places work says so; the rest is the same everywhere.
told='explain|timeit|profile|device|memory\(|opencl|cuda'

same() {                # FILE
    local file=$1 want=$work/want got=$work/got status expected
    (cd "$(dirname "$file")" && timeout "${LIMIT:-60}" "$RICCI" "$(basename "$file")" </dev/null >"$want" 2>/dev/null)
    expected=$?
    placed "$file" >"$file.placed" && mv "$file.placed" "$file"
    (cd "$(dirname "$file")" && timeout "${LIMIT:-60}" "$RICCI" "$(basename "$file")" </dev/null >"$got" 2>"$work/err")
    status=$?
    # Times, and the memory that a shadow saves.
    if grep -q compare "$file"; then sed -E -i 's/ +[0-9.]+ (ns|µs|ms|s)( sim)?//; s/ +[0-9.]+ k?B$//; s/ +(time|memory).*//' "$want" "$got"; fi
    if [ $status = $expected ] && cmp -s "$want" "$got"; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    echo "FAIL ${file#"$work"/} (exit $status, not $expected)"
    if [ -n "${SHOW:-}" ]; then diff -a "$want" "$got" | head -12; head -8 "$work/err"; fi
}

for folder in ${*:-$(ls tests/lang)}; do
    case $folder in devices|opencl|explain|index_explain) continue ;; esac
    for file in "$work/lang/$folder"/*.ric; do
        grep -Eq "$told" "$file" || same "$file"
    done
done
echo "same: $passed passed, $failed failed"
[ $failed = 0 ]
