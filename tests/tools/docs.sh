#!/bin/bash
# Runs the code of the documentation: docs.sh FILE.md …
#   ```ricci        a script: must run; a ```text block right after it is its exact output
#   ```ricci-error  a script that must fail; a ```text block right after it is its stderr
#   ```session      a REPL transcript: lines after `ricci> ` are typed, the rest is what comes out
set -u
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() {           # WHERE EXPECTED GOT
    if diff -u "$2" "$3" >"$work/diff"; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL $1"; sed 's/^/    /' "$work/diff" | head -20; fi
}
for file in "$@"; do
    rm -f "$work"/block.*
    awk -v dir="$work" '
        /^```/ && !inside { kind = substr($0, 4); inside = 1; n++; name = sprintf("%s/block.%04d", dir, n)
                            print NR > (name ".line"); print kind > (name ".kind"); printf "" > name
                            print (NR - last <= 2 ? "yes" : "no") > (name ".follows"); next }
        /^```/ { inside = 0; last = NR; close(name); next }
        inside { print > name }' "$file"
    for kindfile in "$work"/block.*.kind; do
        [ -f "$kindfile" ] || continue
        block=${kindfile%.kind} kind=$(cat "$kindfile") where="$file:$(cat "${kindfile%.kind}.line")"
        next=$(printf '%s/block.%04d' "$work" $((10#${block##*.} + 1)))
        expect=
        [ -f "$next.kind" ] && [ "$(cat "$next.kind")" = text ] && [ "$(cat "$next.follows")" = yes ] && expect=$next
        case $kind in
        ricci)
            timeout 60 "$RICCI" - <"$block" >"$work/out" 2>"$work/err"; status=$?
            if [ $status != 0 ]; then failed=$((failed + 1)); echo "FAIL $where (exit $status)"; head -8 "$work/err" | sed 's/^/    /'
            elif [ -n "$expect" ]; then cat "$work/out" "$work/err" >"$work/both"; check "$where" "$expect" "$work/both"
            else passed=$((passed + 1)); fi ;;
        ricci-error)
            timeout 60 "$RICCI" - <"$block" >"$work/out" 2>"$work/err"; status=$?
            if [ $status != 1 ]; then failed=$((failed + 1)); echo "FAIL $where (exit $status, 1 expected)"
            elif [ -n "$expect" ]; then check "$where" "$expect" "$work/err"
            else passed=$((passed + 1)); fi ;;
        session)
            # Typed lines go to an interactive interpreter without a terminal; its prompts come back.
            sed -nE 's/^(ricci>|  \.\.\.>) ?//p' "$block" >"$work/typed"
            grep -vE '^(ricci>|  \.\.\.>)' "$block" | sed 's/[ ]*$//' | sed '/^$/d' >"$work/want"
            RICCI_SESSION=1 timeout 60 "$RICCI" -i /dev/null <"$work/typed" 2>&1 | sed -E 's/^((ricci>|  \.\.\.>) ?)+//; s/[ ]*$//' | sed '/^$/d' >"$work/got"
            check "$where" "$work/want" "$work/got" ;;
        esac
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
