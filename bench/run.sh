#!/bin/bash
# Side by side with the peers that are installed, in one run: medians and ratios.
#   bench/run.sh [scalar] [loops] [tensor] [everyday] [signals] [methods_interp] [methods_shelf] [methods_signals] [methods_random] [sparse_products] [growth] [sparse_solve] [sparse_files] [sparse_notation] [gradients] [training] [attention] [quant] [lazy] [memory] [linalg] [factor] [spectral] [index] [precision] [exact] [methods_ivp] [devices] [gpu] [native] [methods_quad] [python] [jupyter] [start] [peers]
# Peers: lua5.4 and python3 (CPython) for scalar code, LuaJIT and numba for loops, NumPy for tensors, signals and formats, plain BLAS and
# LAPACK calls from C, NumPy, SciPy and Octave for linear algebra, a C program, NumPy, torch and
# Octave for index notation, mpmath and FLINT for exact and wide formats; `peers` installs what is
# missing of them.
# A ratio above 1 means Ricci is faster.
set -u
cd "$(dirname "$0")/.."
RICCI=${RICCI:-$PWD/build/ricci}
rounds=${ROUNDS:-5}
failed=0
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

# One script of bench/DIR and its NumPy twin.
against_numpy() {   # NAME [DIR]
    local numpy= dir=bench/${2:-tensor}
    for python in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$python" -c 'import numpy' 2>/dev/null; then numpy=$python; break; fi
    done
    [ -z "$numpy" ] && { echo "$1: NumPy is not installed (python3-numpy)"; }
    "$RICCI" "$dir/$1.ric" >"$work/ricci.1"
    [ -n "$numpy" ] && "$numpy" "$dir/$1_numpy.py" >"$work/numpy.1"
    "$RICCI" "$dir/$1.ric" >"$work/ricci.2"
    [ -n "$numpy" ] && "$numpy" "$dir/$1_numpy.py" >"$work/numpy.2"
    printf '%-22s %12s %12s %8s   (best of two runs of medians)\n' "$1" ricci numpy ratio
    touch "$work/numpy.1" "$work/numpy.2"
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } { low(p, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]; if (k in p) printf "%-22s %10.3fms %10.3fms %8.2f\n", k, r[k] * 1e3, p[k] * 1e3, r[k] ? p[k] / r[k] : 0; else printf "%-22s %10.3fms\n", k, r[k] * 1e3 } }' \
        "$work/ricci.1" "$work/ricci.2" "$work/numpy.1" "$work/numpy.2"
}

bench_loops() {     # plain loops, with the programs of scalar: what a compiler makes of them, and when
    RICCI=$RICCI python3 bench/loops/loops.py
}
bench_tensor() { against_numpy tensor; }
bench_everyday() { against_numpy everyday; }
bench_signals() { against_numpy signals; }
bench_methods_interp() { against_numpy methods_interp .; }      # with SciPy
bench_sparse_notation() { against_numpy sparse_notation .; }     # with SciPy
bench_methods_random() {  # on all threads and on one, beside numpy.random.Generator
    for python in build/venv/bin/python3 /usr/bin/python3 python3; do
        "$python" -c 'import numpy' 2>/dev/null && { RICCI=$RICCI "$python" bench/methods_random_numpy.py; return; }
    done
    echo "methods_random: NumPy is not installed (python3-numpy)"
}
bench_sparse_solve() {  # beside SuiteSparse called from C
    local program=${BUILD:-build}/bench/sparse_solve
    [ -x "$program" ] || { echo "sparse_solve: build it with make $program"; return; }
    RICCI=$RICCI "$program"
}
bench_sparse_products() { against_numpy sparse_products .; }      # with SciPy
bench_sparse_files() {  # Matrix Market and .npz, on all threads and on one, beside SciPy
    for python in build/venv/bin/python3 /usr/bin/python3 python3; do
        "$python" -c 'import scipy' 2>/dev/null && { RICCI=$RICCI "$python" bench/sparse_files_scipy.py; return; }
    done
    echo "sparse_files: SciPy is not installed (python3-scipy)"
}
bench_methods_shelf() { against_numpy methods_shelf .; }
bench_methods_signals() { against_numpy methods_signals .; }     # with SciPy
bench_attention() { against_torch attention; }
bench_quant() { against_torch quant; }
against_torch() {       # NAME: which `peers` installs, on one thread, then on all that there are
    local python=build/venv/bin/python3 threads name=$1
    for threads in 1 $(nproc); do
        for round in 1 2; do
            RICCI_THREADS=$threads "$RICCI" "bench/$name/$name.ric" >"$work/$name.ricci.$round"
            "$python" -c 'import torch' 2>/dev/null &&
                "$python" "bench/$name/${name}_peer.py" "$threads" >"$work/$name.torch.$round"
        done
        printf '%-24s %12s %12s %8s   (best of two runs of medians)\n' "threads: $threads" ricci torch /torch
        touch "$work/$name".torch.1
        awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
             FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } { low(t, $1, $2) }
             END { for (i = 1; i <= n; i++) { k = order[i]; printf "%-24s %10.3fms %10.3fms %8.2f\n", k, r[k] * 1e3, t[k] * 1e3, r[k] ? t[k] / r[k] : 0 } }' \
            "$work/$name".ricci.* "$work/$name".torch.*
    done
}
bench_gradients() { against_peers gradients torch jax; }
bench_training() { against_peers training torch compiled jax; }
against_peers() {               # NAME PEER…: of `peers`; compiled: torch.compile; JAX always is
    local python=build/venv/bin/python3 peer name=$1
    shift
    for round in 1 2; do
        "$RICCI" "bench/$name/$name.ric" >"$work/$name.ricci.$round"
        for peer; do
            "$python" -c "import ${peer/compiled/torch}" 2>/dev/null &&
                "$python" "bench/$name/${name}_peer.py" "$peer" >"$work/$name.$peer.$round" 2>/dev/null
        done
    done
    awk -v name="$name" -v list="$*" 'function low(k, v) { if (!(k in time) || v < time[k]) time[k] = v }
         { split(FILENAME, part, "[.]"); who = part[length(part) - 1]; low($1 " " who, $2) }
         who == "ricci" && !($1 in seen) { seen[$1]; order[++n] = $1 }
         END { peers = split(list, peer, " ")
               printf "%-16s %12s", name, "ricci"
               for (p = 1; p <= peers; p++) printf " %12s", peer[p]
               for (p = 1; p <= peers; p++) printf " %9s", "/" peer[p]
               print "   (best of two runs of medians)"
               for (i = 1; i <= n; i++) {
                   k = order[i]; r = time[k " ricci"]
                   printf "%-16s %10.4fms", k, r * 1e3
                   for (p = 1; p <= peers; p++) printf " %10.4fms", time[k " " peer[p]] * 1e3
                   for (p = 1; p <= peers; p++) printf " %9.2f", time[k " " peer[p]] / r
                   print "" } }' "$work/$name".*.[12]
}
bench_lazy() {          # lazy blocks, against what `peers` installs: on one thread, then on all that there are
    local python=build/venv/bin/python3 threads peer
    for threads in ${THREADS:-1 $(nproc)}; do
        rm -f "$work"/lazy.*
        for round in $(seq ${ROUNDS:-2}); do
            RICCI_THREADS=$threads "$RICCI" bench/lazy/lazy.ric >"$work/lazy.ricci.$round" 2>/dev/null
            for peer in torch jax numexpr numba; do
                "$python" -c "import $peer" 2>/dev/null &&
                    "$python" bench/lazy/lazy_peer.py $peer "$threads" >"$work/lazy.$peer.$round" 2>/dev/null
            done
        done
        uptime | sed "s/.*load/threads: $threads, load/"
        awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
             BEGIN { split("torch jax numexpr numba", peers)
                     printf "%-24s %11s %8s", "(best of medians)", "ricci", "/eager"
                     for (p = 1; p <= 4; p++) printf " %9s", "/" peers[p]; print "" }
             { split(FILENAME, part, "[.]"); who = part[length(part) - 1] }
             who == "ricci" && $1 ~ /-eager$/ { sub(/-eager$/, "", $1); low(eager, $1, $2); next }
             who == "ricci" && !($1 in ricci) { order[++n] = $1 }
             who == "ricci" { low(ricci, $1, $2); next }
             $1 !~ /-eager$/ { low(time, $1 " " who, $2) }
             END { for (i = 1; i <= n; i++) {
                       k = order[i]
                       printf "%-24s %9.4fms %8s", k, ricci[k] * 1e3, k in eager ? sprintf("%.2f", eager[k] / ricci[k]) : ""
                       for (p = 1; p <= 4; p++) {
                           at = k " " peers[p]
                           printf " %9s", at in time ? sprintf("%.2f", time[at] / ricci[k]) : ""
                       }
                       print "" } }' "$work"/lazy.*
    done
}
bench_memory() {        # shares of what memory gives, on one thread, then on all that there are
    local threads round size
    ${CC:-cc} -O3 -march=native -pthread -o "$work/reference" bench/memory/reference.c || return
    for threads in ${THREADS:-1 $(nproc)}; do
        rm -f "$work"/memory.*
        for round in $(seq ${ROUNDS:-2}); do
            "$work/reference" "$threads" >"$work/memory.reference.$round"
            for size in ${SIZES:-f64:8000000 f32:16000000 f64:100000000 f32:100000000}; do
                RICCI_THREADS=$threads "$RICCI" bench/memory/memory.ric "${size%:*}" "${size#*:}" >"$work/memory.$size.$round"
            done
        done
        echo "threads: $threads"
        awk -f bench/memory/table.awk "$work"/memory.reference.* "$work"/memory.f*
    done
}
bench_precision() {                                     # with ml_dtypes where it is
    RICCI_THREADS=1 against_numpy precision precision
    for threads in 1 2; do
        echo "products, $threads thread(s), formats as shares of f32"
        RICCI_THREADS=$threads "$RICCI" bench/precision/gemm.ric
    done
}

# Exact and wide formats on one thread, in turns with mpmath (on gmpy2), FLINT and Python's decimal numbers, which compare their answers with Ricci's.
bench_exact() {
    local python=build/venv/bin/python3 peer turn module
    for turn in $(seq ${ROUNDS:-3}); do
        RICCI_THREADS=1 "$RICCI" bench/exact/exact.ric >"$work/exact.ricci.$turn" || return
        for peer in mpmath flint decimal; do
            case $peer in mpmath) module=gmpy2,mpmath ;; decimal) module=numpy ;; *) module=$peer ;; esac
            if "$python" -c "import $module" 2>/dev/null; then
                "$python" bench/exact/exact_peer.py $peer "$work/exact.ricci.$turn" $([ "$turn" = 1 ] && echo slow) >"$work/exact.$peer.$turn"
            elif [ "$turn" = 1 ]; then
                echo "exact: $peer is not installed (bench/run.sh peers)"
            fi
        done
    done
    awk -f bench/exact/table.awk "$work"/exact.ricci.* "$work"/exact.[mfd]*.*
}

# NumPy and SciPy from build/venv (`bench/run.sh peers` makes it) or the system; Octave too.
bench_linalg() {    # against plain BLAS and LAPACK calls from C, NumPy, SciPy and Octave
    local python= p program=${BUILD:-build}/bench/linalg
    for p in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$p" -c 'import numpy' 2>/dev/null; then python=$p; break; fi
    done
    [ -x "$program" ] || { echo "linalg: build it with make $program"; return; }
    PYTHON=$python OCTAVE=$(command -v octave-cli || command -v octave) "$program"
}

# On two threads and on one, beside MKL (PyTorch's) and OpenBLAS (SciPy's): the least of rounds that take turns.
beside_lapack() {          # NAME ORDERS
    local python= p threads turn name=$1 orders=$2
    for p in build/venv/bin/python3 /usr/bin/python3 python3; do
        "$p" -c 'import scipy' 2>/dev/null && { python=$p; break; }
    done
    [ -z "$python" ] && { echo "$name: SciPy is not installed (bench/run.sh peers)"; return; }
    for threads in 2 1; do
        rm -f "$work"/$name.*
        for turn in 1 2; do
            RICCI_THREADS=$threads "$RICCI" bench/$name.ric $orders >"$work/$name.ricci.$turn"
            for p in torch openblas; do
                OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads MKL_NUM_THREADS=$threads \
                    "$python" bench/${name}_peer.py $p $orders >"$work/$name.$p.$turn" 2>/dev/null
            done
        done
        printf '%-18s %12s %12s %12s %8s   (threads: %s)\n' $name ricci mkl openblas ratio $threads
        awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
             FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next }
             { low(best, $1, $2) } FILENAME ~ /torch/ { low(t, $1, $2); next } { low(o, $1, $2) }
             END { for (i = 1; i <= n; i++) { k = order[i]; if (!(k in best)) continue; s += log(best[k] / r[k]); m++
                       printf "%-18s %10.3fms %10.3fms %10.3fms %8.2f\n", k, r[k] * 1e3, t[k] * 1e3, o[k] * 1e3, best[k] / r[k] }
                   if (m) printf "geometric mean: %.2f x the better of both\n", exp(s / m) }' "$work"/$name.*
    done
}
bench_factor() { beside_lapack factor "${ORDERS:-200 300 500 700 1000 2000}"; }
bench_spectral() { beside_lapack spectral "${ORDERS:-200 300 500 700 1000}"; }

# Programs of bench/index take turns, each twice per number of threads; the lower of two medians counts.
bench_index() {
    local python=python3 p torch= octave threads turn
    for p in build/venv/bin/python3 /usr/bin/python3; do
        if "$p" -c 'import numpy' 2>/dev/null; then python=$p; break; fi
    done
    "$python" -c 'import torch' 2>/dev/null && torch=1 || echo "index: torch is not installed (bench/run.sh peers)"
    octave=$(command -v octave-cli || command -v octave) || echo "index: Octave is not installed"
    ${CC:-cc} -O3 -march=native -ffast-math -fopenmp -o "$work/reference" bench/index/reference.c -lm || return
    for threads in 1 2; do
        rm -f "$work"/index.* "$work"/tccg.*
        export RICCI_THREADS=$threads OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads
        for turn in 1 2; do
            "$work/reference" >"$work/index.c.$turn"
            "$RICCI" bench/index/expressions.ric >"$work/index.ricci.$turn"
            [ -n "$torch" ] && "$python" bench/index/expressions_peer.py torch >"$work/index.torch.$turn"
            if [ $turn = 1 ]; then      # the slow ones once
                "$python" bench/index/expressions_peer.py numpy >"$work/index.numpy"
                [ -n "$octave" ] && "$octave" -q bench/index/expressions_peer.m >"$work/index.octave" 2>"$work/octave.log"
            fi
            "$RICCI" bench/index/tccg.ric >"$work/tccg.ricci.$turn"
            "$python" bench/index/tccg_peer.py optimize >"$work/tccg.optimize.$turn"
            [ -n "$torch" ] && "$python" bench/index/tccg_peer.py torch >"$work/tccg.torch.$turn"
        done
        # One thread whatever it is told, and over a second each.
        [ -f "$work/plain" ] || "$python" bench/index/tccg_peer.py numpy >"$work/plain"
        cp "$work/plain" "$work/tccg.numpy"
        echo "index notation, $threads thread(s); /C: time over the C reference, /peer: best peer's time over Ricci's"
        awk -f bench/index/table.awk "$work"/index.*
        echo
        echo "48 tensor contractions, $threads thread(s); of gemm: of the rate of a square product; other columns: its time over Ricci's"
        awk -v tccg=1 -f bench/index/table.awk "$work"/tccg.*
        echo
    done
    unset RICCI_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS
}

bench_native() {    # calls into C, against Python's ways: two runs of each, the lower counts
    local way turn
    for turn in 1 2; do
        "$RICCI" bench/native/native.ric >>"$work/native.ricci"
        for way in ctypes cffi; do
            python3 -c "import $way" 2>/dev/null && python3 bench/native/native_peer.py $way >>"$work/native.$way"
        done
    done
    touch "$work/native.ctypes" "$work/native.cffi"
    printf '%-18s %10s %10s %10s %8s %8s   (ns a call)\n' "native" ricci ctypes cffi /ctypes /cffi
    awk -F'\t' 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } FILENAME ~ /ctypes/ { low(p, $1, $2); next } { low(c, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]; printf "%-18s %10.1f %10.1f %10.1f %8.2f %8.2f\n", k, r[k] * 1e9, p[k] * 1e9, c[k] * 1e9, p[k] / r[k], c[k] / r[k] } }' \
        "$work/native.ricci" "$work/native.ctypes" "$work/native.cffi"
}

bench_methods_quad() {  # quadrature beside SciPy's, with the user's function in each one's own language
    local python=build/venv/bin/python3 turn
    "$python" -c 'import scipy' 2>/dev/null || python=python3
    for turn in $(seq ${ROUNDS:-3}); do
        RICCI_THREADS=1 "$RICCI" bench/methods_quad.ric >>"$work/quad.ricci"
        "$python" -c 'import scipy' 2>/dev/null && OMP_NUM_THREADS=1 "$python" bench/methods_quad_peer.py >>"$work/quad.scipy"
    done
    touch "$work/quad.scipy"
    printf '%-18s %12s %12s %8s   (best of medians)\n' quadrature ricci scipy /scipy
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci$/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); next } { low(p, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]; printf "%-18s %10.4fms %10.4fms %8.2f\n", k, r[k] * 1e3, p[k] * 1e3, p[k] / r[k] } }' \
        "$work/quad.ricci" "$work/quad.scipy"
}

bench_devices() { "$RICCI" bench/devices/devices.ric; }     # against the bars, not against peers

bench_peers() {     # what the comparisons need and nothing else does
    python3 -m venv build/venv && build/venv/bin/pip install -q numpy scipy torch jax ml_dtypes numexpr numba mpmath gmpy2 python-flint
    command -v luajit >/dev/null || apt-get install -y --no-install-recommends luajit
    command -v octave >/dev/null || apt-get install -y --no-install-recommends octave
}

# Against PyTorch on the same device, in turns, and the shares that docs/performance.md states.
bench_gpu() {
    local python= p turn why
    why=$("$RICCI" -e 'on cuda strict { print(sum(f32([1, 2]))) }' 2>&1) || {
        echo "gpu: not run: $(sed -n '1s/^error[^:]*: //p' <<<"$why")"
        return
    }
    for p in build/venv/bin/python3 /usr/bin/python3 python3; do
        if "$p" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then python=$p; break; fi
    done
    [ -z "$python" ] && echo "gpu: PyTorch with CUDA is not installed: Ricci's figures alone"
    "$RICCI" -e 'print(devices())' | grep -A3 '^cuda'
    rm -f "$work"/gpu.*
    for turn in 1 2 3; do
        "$RICCI" bench/gpu/gpu.ric >>"$work/gpu.ricci" || return
        [ -n "$python" ] && "$python" bench/gpu/gpu_torch.py >>"$work/gpu.torch"
    done
    touch "$work/gpu.torch"
    printf '%-20s %10s %10s %10s %10s %10s\n' gpu ricci torch torch/ricci GB/s TFLOP/s
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); bytes[$1] = $3; flops[$1] = $4; next }
         { low(t, $1, $2) }
         END { for (i = 1; i <= n; i++) { k = order[i]
                   peer = k in t ? sprintf("%8.3fms %10.2f", t[k] * 1e3, t[k] / r[k]) : sprintf("%10s %10s", "-", "-")
                   printf "%-20s %8.3fms %s %10.0f %10.1f\n", k, r[k] * 1e3, peer, bytes[k] / r[k] / 1e9, flops[k] / r[k] / 1e12 }
               c = "copy_f32"; f = "fused_f32"; best = c in t && t[c] < r[c] ? t[c] : r[c]
               printf "the fused pass reaches %.0f %% of copy bandwidth\n", 100 * (bytes[f] / r[f]) / (bytes[c] / best) }' \
        "$work/gpu.ricci" "$work/gpu.torch"
}

bench_methods_ivp() {   # initial value problems: time, and error, steps and calls of f for it, beside SciPy's
    local python=build/venv/bin/python3 turn
    rm -f "$work"/ivp.*
    for turn in $(seq ${ROUNDS:-3}); do
        RICCI_THREADS=1 "$RICCI" bench/methods_ivp.ric >"$work/ivp.ricci.$turn" || return
        "$python" -c 'import scipy' 2>/dev/null && "$python" bench/methods_ivp_peer.py >"$work/ivp.scipy.$turn"
    done
    touch "$work/ivp.scipy.1"
    printf '%-26s %9s %9s %7s   %17s   %13s   %15s\n' ivp ricci scipy /scipy 'errors' steps calls
    awk 'function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
         FILENAME ~ /ricci/ { if (!($1 in r)) order[++n] = $1; low(r, $1, $2); e[$1] = $3; s[$1] = $4; c[$1] = $5; next }
         { low(p, $1, $2); f[$1] = $3; u[$1] = $4; d[$1] = $5 }
         END { for (i = 1; i <= n; i++) { k = order[i]
                   printf "%-26s %7.2fms %7.2fms %7.2f   %8s %8s   %6s %6s   %7s %7s\n", k, r[k] * 1e3, p[k] * 1e3, p[k] / r[k], e[k], f[k], s[k], u[k], c[k], d[k]
                   if (k in p) { g += log(p[k] / r[k]); m++ } }
               if (m) printf "geometric mean: %.2f × SciPy\n", exp(g / m) }' "$work"/ivp.ricci.* "$work"/ivp.scipy.*
}

bench_python() {    # the module's costs, beside what is asked of it
    local python=$PWD/build/venv/bin/python3
    "$python" -c 'import numpy' 2>/dev/null || python=python3
    "$python" -c 'import numpy' 2>/dev/null || { echo "python: NumPy is not installed"; return; }
    make -s python PYTHON="$python" && PYTHONPATH=build/python "$python" bench/python/costs.py
}

bench_mpi() {       # groups of processes: no computing, only what all commands and bytes cost
    make -s build/unit/mpi && build/unit/mpi bench
    "$RICCI" bench/mpi.ric
}

bench_growth() {    # from 10 to 10^9 elements; what grows faster than its work is a failure
    RICCI=$RICCI python3 bench/growth/growth.py || failed=1
}

bench_start() {
    local k
    for ((k = 0; k < 50; k++)); do seconds "$RICCI" -e 1; done | median | awk '{ printf "start of `ricci -e 1`: %.1f ms (median of 50)\n", $1 * 1e3 }'
    "$RICCI" -e 'for line in lines("/proc/self/status") { if startswith(line, "VmHWM") { print("resident at its peak:", line) } }'
}

bench_jupyter() {   # the kernel of notebooks, beside what is asked of it
    RICCI=${RICCI:-build/ricci} python3 bench/jupyter/costs.py
}

for suite in ${*:-start scalar tensor everyday signals methods_interp linalg index precision devices native python jupyter mpi}; do "bench_$suite"; echo; done
exit $failed
