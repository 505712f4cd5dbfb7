#!/bin/bash
# Side by side with the peers that are installed, in one run: medians and ratios.
#   bench/run.sh [scalar] [tensor] [signals] [linalg] [start] [peers]
# Peers: lua5.4 and python3 (CPython) for scalar code, NumPy for tensors and signals, plain BLAS and
# LAPACK calls from C, NumPy, SciPy and Octave for linear algebra; `peers` installs the last.
# A ratio above 1 means Ricci is faster.
set -u
cd "$(dirname "$0")/.."
RICCI=${RICCI:-$PWD/build/ricci}
rounds=${ROUNDS:-5}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

seconds() { local t; t=$( { TIMEFORMAT=%R; time "$@" >/dev/null 2>&1; } 2>&1 ); echo "$t"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

bench_scalar() {    # runs interleave, so a busy moment hits every peer alike
    printf '%-14s %10s %10s %10s %8s %8s\n' "scalar" ricci lua5.4 cpython /lua /cpython
    for file in bench/scalar/*.ric; do
        local name=${file%.ric} k
        rm -f "$work"/t.*
        for ((k = 0; k < rounds; k++)); do
            seconds "$RICCI" "$file" >>"$work/t.ricci"
            command -v lua5.4 >/dev/null && seconds lua5.4 "$name.lua" >>"$work/t.lua"
            [ -f "$name.py" ] && seconds python3 "$name.py" >>"$work/t.py"
        done
        local r l p
        r=$(median <"$work/t.ricci"); l=$( [ -f "$work/t.lua" ] && median <"$work/t.lua" || echo 0); p=$( [ -f "$work/t.py" ] && median <"$work/t.py" || echo 0)
        awk -v n="$(basename "$name")" -v r="$r" -v l="$l" -v p="$p" 'BEGIN { printf "%-14s %9.3fs %9.3fs %9.3fs %8.2f %8.2f\n", n, r, l, p, l / r, p / r }'
    done | tee "$work/scalar"
    awk '{ if ($5 > 0) { s += log($5); n++ } if ($6 > 0) { c += log($6); k++ } } END { if (n) printf "geometric mean: %.2f × Lua", exp(s / n); if (k) printf ", %.2f × CPython", exp(c / k); print "" }' "$work/scalar"
}

# One script of bench/tensor and its NumPy twin.
against_numpy() {   # NAME
    local numpy=
    for python in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$python" -c 'import numpy' 2>/dev/null; then numpy=$python; break; fi
    done
    [ -z "$numpy" ] && { echo "$1: NumPy is not installed (python3-numpy)"; }
    "$RICCI" "bench/tensor/$1.ric" >"$work/ricci.1"
    [ -n "$numpy" ] && "$numpy" "bench/tensor/$1_numpy.py" >"$work/numpy.1"
    "$RICCI" "bench/tensor/$1.ric" >"$work/ricci.2"
    [ -n "$numpy" ] && "$numpy" "bench/tensor/$1_numpy.py" >"$work/numpy.2"
    printf '%-22s %12s %12s %8s   (best of two runs of medians)\n' "$1" ricci numpy ratio
    touch "$work/numpy.1" "$work/numpy.2"
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } { low(p, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]; printf "%-22s %10.3fms %10.3fms %8.2f\n", k, r[k] * 1e3, p[k] * 1e3, r[k] ? p[k] / r[k] : 0 } }' \
        "$work/ricci.1" "$work/ricci.2" "$work/numpy.1" "$work/numpy.2"
}

bench_tensor() { against_numpy tensor; }
bench_signals() { against_numpy signals; }

# NumPy and SciPy from build/venv (`bench/run.sh peers` makes it) or the system; Octave too.
bench_linalg() {    # against plain BLAS and LAPACK calls from C, NumPy, SciPy and Octave
    local python= p program=${BUILD:-build}/bench/linalg
    for p in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$p" -c 'import numpy' 2>/dev/null; then python=$p; break; fi
    done
    [ -x "$program" ] || { echo "linalg: build it with make $program"; return; }
    PYTHON=$python OCTAVE=$(command -v octave-cli || command -v octave) "$program"
}

bench_peers() {     # what the comparisons need and nothing else does
    python3 -m venv build/venv && build/venv/bin/pip install -q numpy scipy
    command -v octave >/dev/null || apt-get install -y --no-install-recommends octave
}

bench_start() {
    local k
    for ((k = 0; k < 50; k++)); do seconds "$RICCI" -e 1; done | median | awk '{ printf "start of `ricci -e 1`: %.1f ms (median of 50)\n", $1 * 1e3 }'
    "$RICCI" -e 'for line in lines("/proc/self/status") { if startswith(line, "VmHWM") { print("resident at its peak:", line) } }'
}

for suite in ${*:-start scalar tensor signals linalg}; do "bench_$suite"; echo; done
