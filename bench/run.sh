#!/bin/bash
# Side by side with the peers that are installed, in one run: medians and ratios.
#   bench/run.sh [scalar] [tensor] [linalg] [start]
# Peers: lua5.4 and python3 (CPython) for scalar code, NumPy for tensors, plain BLAS and
# LAPACK calls from C for products and factorisations. A ratio above 1 means Ricci is faster.
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

bench_tensor() {
    local numpy=
    for python in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$python" -c 'import numpy' 2>/dev/null; then numpy=$python; break; fi
    done
    [ -z "$numpy" ] && { echo "tensor: NumPy is not installed (python3-numpy)"; }
    "$RICCI" bench/tensor/tensor.ric >"$work/ricci.1"
    [ -n "$numpy" ] && "$numpy" bench/tensor/tensor_numpy.py >"$work/numpy.1"
    "$RICCI" bench/tensor/tensor.ric >"$work/ricci.2"
    [ -n "$numpy" ] && "$numpy" bench/tensor/tensor_numpy.py >"$work/numpy.2"
    printf '%-22s %12s %12s %8s   (best of two runs of medians)\n' tensor ricci numpy ratio
    touch "$work/numpy.1" "$work/numpy.2"
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } { low(p, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]; printf "%-22s %10.3fms %10.3fms %8.2f\n", k, r[k] * 1e3, p[k] * 1e3, r[k] ? p[k] / r[k] : 0 } }' \
        "$work/ricci.1" "$work/ricci.2" "$work/numpy.1" "$work/numpy.2"
}

bench_linalg() {    # against plain BLAS and LAPACK calls from C
    if [ -x build/bench/linalg ]; then build/bench/linalg; else echo "linalg: build it with make build/bench/linalg"; fi
}

bench_start() {
    local k
    for ((k = 0; k < 50; k++)); do seconds "$RICCI" -e 1; done | median | awk '{ printf "start of `ricci -e 1`: %.1f ms (median of 50)\n", $1 * 1e3 }'
    "$RICCI" -e 'for line in lines("/proc/self/status") { if startswith(line, "VmHWM") { print("resident at its peak:", line) } }'
}

for suite in ${*:-start scalar tensor linalg}; do "bench_$suite"; echo; done
