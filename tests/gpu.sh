#!/bin/bash
# What needs an NVIDIA GPU: the backend with the real libraries, generated kernels against their
# reference, every row on every layout, the examples' programs there, and the benchmarks. Without a
# GPU the kernels are compiled where NVRTC is, and run as the host's code where g++ is, on the machine
# of tests/stub; and what was not run is named. Ends with one line: N passed, N failed.
#   tests/gpu.sh        BUILD, RICCI: what to test      QUICK=1: without benchmarks
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
export RICCI=${RICCI:-$PWD/$BUILD/ricci} LC_ALL=C.UTF-8
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work
passed=0 failed=0

# Starts a program that ends in `N passed, N failed`: as many at once as there are processors.
begun=()
part() {            # WHAT SECONDS COMMAND…
    local at=$work/${#begun[@]} limit=$2
    begun+=("$1")
    shift 2
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    ( start=$SECONDS
      timeout "$limit" "$@" </dev/null >"$at.log" 2>"$at.errors"
      echo "$? $((SECONDS - start))" >"$at.ended" ) &
}

# Every row on every dtype and layout, one share of the rows for each processor.
matrix() {          # WHAT SECONDS OPTION…
    local k n what=$1 limit=$2
    shift 2
    n=$(nproc)
    for ((k = 0; k < n; k++)); do
        part "$what, $((k + 1)) of $n" "$limit" "$BUILD/devices/matrix" "$@" "--part=$k/$n" cuda:0
    done
}

# Waits for what was started, and adds it up.
gather() {
    local k at line status seconds
    wait
    for k in "${!begun[@]}"; do
        at=$work/$k
        read -r status seconds <"$at.ended"
        line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$at.log" | tail -1)
        grep -aE '^(not run|FAIL)' "$at.log" | sed 's/^/    /'
        if [ -z "$line" ]; then
            failed=$((failed + 1))
            echo "FAIL ${begun[k]}: it ended with $status and no summary"
            tail -5 "$at.errors" | sed 's/^/    /'
            continue
        fi
        echo "${begun[k]}: $line ($seconds s)"
        line=${line/ failed/}
        passed=$((passed + ${line%% *})) failed=$((failed + ${line##* }))
        case "$line" in *', 0') ;; *) head -20 "$at.errors" | sed 's/^/    /' ;; esac
    done
    begun=()
}

reason=$("$RICCI" -e 'on cuda strict { print(sum(f32([1, 2]))) }' 2>&1 >/dev/null)
if [ -z "$reason" ]; then
    "$RICCI" -e 'print(devices())' | sed -n '/^cuda/,$p'
    part "the CUDA backend" 120 "$BUILD/unit/cuda" real
    gather                              # it asks for more memory than there is
    part "generated kernels compiled for other devices" 300 env RICCI_SOAK=1 "$BUILD/unit/gpu_text"
    part "generated kernels against their reference" 600 "$BUILD/unit/gpu_nest" cuda:0
    matrix "every row on every dtype and layout" 1800 --full
    part "attention against the host's" 600 "$RICCI" tests/devices/attention.ric cuda:0
    part "products of sparse matrices against the host's" 300 "$RICCI" tests/devices/sparse.ric cuda:0
    part "residuals of LAPACK" 600 "$BUILD/devices/matrix" --full --run=tests/devices/lapack.ric cuda:0
    gather
    [ "${QUICK:-}" = 1 ] || bash bench/run.sh gpu
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
fi

echo "no GPU: $(head -1 <<<"$reason" | sed -E 's/^error[^:]*: //')"
part "the CUDA backend on a stub" 120 "$BUILD/unit/cuda"
part "generated kernels compiled by NVRTC" 300 env RICCI_SOAK=1 "$BUILD/unit/gpu_text"
if command -v g++ >/dev/null; then
    export LD_LIBRARY_PATH=$PWD/$BUILD/stub STUB_NVRTC=g++ STUB_ROOT=$PWD
    matrix "every row, its CUDA kernels run as the host's code" 1200
    part "attention there" 600 "$RICCI" tests/devices/attention.ric cuda:0
    part "products of sparse matrices there" 300 "$RICCI" tests/devices/sparse.ric cuda:0
    part "residuals of LAPACK there" 600 "$BUILD/devices/matrix" --full --run=tests/devices/lapack.ric cuda:0
else
    echo "not run: CUDA kernels as the host's code (no g++)"
fi
gather
cat <<'EOF'
not run, for want of an NVIDIA GPU:
    the CUDA backend with the real driver, cuBLAS and cuSOLVER (unit/cuda real)
    generated kernels against their reference on the device (unit/gpu_nest cuda:0)
    every row on every dtype and layout there, and residuals of LAPACK (devices/matrix --full cuda:0)
    attention there, and how fast it is (tests/devices/attention.ric cuda:0)
    products of sparse matrices there, and how fast they are (tests/devices/sparse.ric cuda:0)
    products of f32 and bf16 against PyTorch, the fused pass against copy bandwidth (bench/run.sh gpu)
EOF
echo "$passed passed, $failed failed"
[ $failed = 0 ]
