#!/bin/bash
# The programs of this folder on grids of several shapes and blocks: what they print is the same on all
# of them. RICCI is the program (build/ricci).
set -u
cd "$(dirname "$0")/../.."
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-mpi.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
export RICCI_PROGRAM=$RICCI LC_ALL=C.UTF-8 TERM=dumb COLUMNS=80 RICCI_PATH=
unset RICCI_MPI_FAULT RICCI_MPI_TIMEOUT RICCI_MPIRUN

if ! timeout -k 5 60 "$RICCI" -e 'on mpi(1, 1) { print(sum(ones(3))) }' </dev/null >"$work/out" 2>&1; then
    echo "not run: tests/mpi/programs.sh: $(grep -m1 '^error' "$work/out" | cut -c1-200)"
    echo "0 passed, 0 failed"
    exit 0
fi
# Times, the device's name, what more ranks than cores bring, and bytes that depend on the grid.
plain() {
    sed -E '/^notice: mpi.* take turns/d; s/mpi\([^)]*\)/mpi(…)/g; s/; [0-9.]+ (ns|µs|ms|s)(, of which [0-9.]+ (ns|µs|ms|s) copies)?$//
            s/, [0-9.]+ (bytes|kB|MB) between$//; s/ \([^ ]*\.ric:[0-9]+\)$//'
}
for file in tests/mpi/*.ric; do
    for grid in '1 1 64' '1 2 3' '2 2 2' '3 2 4'; do
        name=$(basename "$file" .ric)
        # shellcheck disable=SC2086
        timeout -k 5 120 "$RICCI" "$file" $grid </dev/null >"$work/out" 2>"$work/err"
        { cat "$work/out"; [ -s "$work/err" ] && { echo "--- stderr"; cat "$work/err"; }; } | plain >"$work/got"
        [ "$(tail -1 "$work/got")" = "--- stderr" ] && sed -i '$d' "$work/got"
        if diff -u "tests/mpi/$name.out" "$work/got" >"$work/diff"; then passed=$((passed + 1)); else
            failed=$((failed + 1)); echo "FAIL $file on $grid"; head -30 "$work/diff"; fi
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
