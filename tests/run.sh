#!/bin/bash
# The test suites: tests/run.sh [check | deep | SUITE…]. Without one, and by `make check`: check, what a
# user runs. `make check-deep` runs deep. a,b/c,d runs a and then b beside c and then d. A suite is a
# function suite_NAME in tests/suites.sh or tests/suites_deep.sh and its word in one of the lists below.
# Every suite says its seconds, of the clock and of the processor. Ends with one line: N passed, N failed.
#   RICCI   the binary under test (build/ricci)      BLESS=1  rewrites golden outputs
#   SEED    of what is random in deep (the commit's; printed)   FUZZ_SECONDS  of each fuzzer there (40)
set -u
cd "$(dirname "$0")/.."
CHECK="unit golden cli,lint,docs,oracle,precision/repl,errors,locale examples stdlib residual devices native
       install,python/jupyter,crash attack scale lazy_quick mpi"
DEEP="matrix twins without lazy asan sweep hostile tsan interrupts jit seeds deep_locale deep_attack deep_crash deep_python deep_jupyter
      mpi_deep/interrupts_tsan,fuzz"
RICCI=${RICCI:-$PWD/build/ricci}
BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
# New with every commit, and the same for whoever tries that commit again.
SEED=${SEED:-$((0x$(git rev-parse --short=7 HEAD 2>/dev/null || printf %x "$(date +%s)")))}
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-tests.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work BUILD
# Kernels that an OpenCL driver compiled in an earlier run.
export POCL_CACHE_DIR=$PWD/build/pocl XDG_CACHE_HOME=$PWD/build/cache
# No plan depends on what somebody measured on this machine.
export RICCI_CALIBRATION=0
mkdir -p "$POCL_CACHE_DIR" "$XDG_CACHE_HOME"
# Where many kernels run once each: PoCL compiles them in a third of the time. `make soak` has them
# optimised, as users do.
plain_kernels() { POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable "$@"; }
passed=0 failed=0
export LC_ALL=C.UTF-8 TERM=dumb RICCI_PATH= COLUMNS=80
unset MAKEFLAGS MFLAGS

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $1"; [ -n "${2:-}" ] && [ -s "$2" ] && head -${3:-25} "$2" | sed 's/^/    /'; }

# Adds the counts of a program whose last matching line is `N passed, N failed`.
count() {           # NAME LOG STATUS
    local line
    grep -a '^not run' "$2"
    line=$(grep -aE '^([a-z]+: )?[0-9]+ passed, [0-9]+ failed' "$2" | tail -1)
    if [ -z "$line" ]; then
        fail "$1 (exit $3, no summary)" "$2"
        return
    fi
    line=${line#*: }
    local p=${line%% *} f=${line#*, }
    f=${f%% *}
    passed=$((passed + p)) failed=$((failed + f))
    if [ "$f" != 0 ]; then echo "FAIL $1: $line"; grep -aA6 FAIL "$2" | cut -c1-300 | head -40 | sed 's/^/    /'; fi
    [ "$f" = 0 ] && [ "$3" != 0 ] && fail "$1 (exit $3 after $line)" "$2"
}

# Runs a program that counts for itself, for at most LIMIT seconds, on the binary RICCI.
counted() {         # NAME COMMAND…
    RICCI=$RICCI timeout -k 10 "${LIMIT:-300}" "${@:2}" </dev/null >"$work/log" 2>&1
    count "$1" "$work/log" $?
}
script() {          # NAME FILE ARGUMENT…: by its ending
    local name=$1 with=bash
    shift
    case $1 in *.py) with=python3 ;; esac
    [ -f "$1" ] || { echo "not run: $1: it is not there"; return; }
    if command -v $with >/dev/null; then counted "$name" $with "$@"; else echo "not run: $1: there is no $with"; fi
}
build() {           # ARGUMENT…: of make
    $MAKE --no-print-directory -s -j"$jobs" "$@" >"$work/log" 2>&1 || { fail "make $* does not build" "$work/log"; return 1; }
}

# Runs `COMMAND … k jobs` for every k < jobs at the same time; each has a folder of its own. Their
# failures are shown and their counts added.
shared() {          # COMMAND ARGUMENT…
    local k p f part taken=$work/taken
    rm -rf "$taken"; mkdir -p "$taken"
    for ((k = 0; k < jobs; k++)); do
        part=$work/part.$k
        mkdir -p "$part"
        ( work=$part TMPDIR=$part passed=0 failed=0; "$@" $k "$jobs"; echo "$passed $failed" >"$part/counts" ) >"$part/shown" 2>&1 &
    done
    wait
    for ((k = 0; k < jobs; k++)); do
        cat "$work/part.$k/shown"
        read -r p f <"$work/part.$k/counts" || { fail "$1: part $k of $jobs broke off"; continue; }
        passed=$((passed + p)) failed=$((failed + f))
        rm -rf "$work/part.$k"
    done
}

# Of things that the parts share, each takes what comes next as soon as it is free: true for the first who asks.
take() {            # THING
    local first
    set -o noclobber
    { : >"$taken/${1//\//:}"; } 2>/dev/null; first=$?
    set +o noclobber
    return $first
}

# Suites that use one core each, at the same time: every LIST (a,b,c) is run in its order.
beside() { shared beside_part "$@"; }
beside_part() {     # LIST… PART PARTS
    local part=${*: -2:1} parts=${*: -1} at=0 list suite
    for list in "${@:1:$#-2}"; do
        if [ $((at++ % parts)) = "$part" ]; then for suite in ${list//,/ }; do timed "$suite"; done; fi
    done
}
# Of what `times` says of this shell and its children (in a pipe it would speak of another shell).
SUM_OF_TIMES='{ for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] } } END { printf "%d", s }'
timed() {           # SUITE
    local before=$((passed + failed)) start=$SECONDS used
    times >"$work/times"
    used=$(awk "$SUM_OF_TIMES" "$work/times")
    "suite_$1"
    times >"$work/times"
    echo "$1: $((passed + failed - before)) tests in $((SECONDS - start)) s, $(($(awk "$SUM_OF_TIMES" "$work/times") - used)) s of the processor"
}

# What a script does, as its golden file records it; NAME.sed beside it takes out what differs from
# run to run.
observe() {         # BINARY FILE OUT
    local status
    (cd "${2%/*}" && exec timeout "${LIMIT:-60}" "$1" "${2##*/}" </dev/null >"$3" 2>"$3.stderr")
    status=$?
    if [ -f "${2%.ric}.sed" ]; then sed -E -i -f "${2%.ric}.sed" "$3"; fi
    if [ -s "$3.stderr" ]; then { echo '--- stderr'; cat "$3.stderr"; } >>"$3"; fi
    if [ $status != 0 ]; then echo "--- exit $status" >>"$3"; fi
}
# Is that what NAME.out says?
as_written() {      # LABEL FILE; not those that LEAVE names
    case " ${LEAVE:-} " in *" $2 "*) return ;; esac
    local want=${2%.ric}.out
    if [ "${BLESS:-}" = 1 ]; then cp "$work/observed" "$want"; pass; return; fi
    if [ ! -f "$want" ]; then fail "$1 $2: no .out file"; return; fi
    if diff -u "$want" "$work/observed" >"$work/diff" 2>&1; then pass; else fail "$1 $2" "$work/diff"; fi
}
golden_file() {     # BINARY LABEL FILE
    observe "$1" "$3" "$work/observed"
    as_written "$2" "$3"
}
# The longest first, so that no processor is left with one of them at the end.
golden_files() {
    { cat tests/long.txt; find tests/lang tests/errors tests/regress -name '*.ric' ! -path '*/lib/*' ! -path "${without:-}" | LC_ALL=C sort; } | awk '!seen[$0]++'
}
golden_part() {     # BINARY LABEL
    local file
    while IFS= read -r file; do
        take "$file" && golden_file "$1" "$2" "$file"
    done < <(golden_files)
}
# What of the golden programs this machine cannot run.
golden_without() {  # BINARY
    without=
    "$1" -e 'on opencl { }' >/dev/null 2>&1 && return
    without='tests/lang/opencl/*'
    echo "not run: $without: no OpenCL platform"
}
golden() {          # BINARY LABEL
    golden_without "$1"
    shared golden_part "$@"
}
units_part() {      # FOLDER LABEL; the longest sources first
    local unit
    for unit in $(ls -S tests/unit/*.c); do
        take "$unit" || continue
        unit=$(basename "$unit" .c)
        plain_kernels timeout "${LIMIT:-120}" "$1/$unit" </dev/null >"$work/log" 2>&1
        count "unit $unit$2" "$work/log" $?
    done
}
# Calls into our own C library: every C type with every kind of value.
native() {          # BINARY LABEL
    local file
    build BUILD="$BUILD" "$BUILD/native/libriccitest.so" || return
    for file in tests/native/*.ric; do LD_LIBRARY_PATH=$PWD/$BUILD/native golden_file "$1" "$2" "$file"; done
}
# Random programs against what is right, from a seed.
oracle() {          # LABEL SEED CASES
    counted "oracle$1, seed $2" python3 tests/oracle/oracle.py --cases "$3" --seed "$2" --ricci "$RICCI"
    counted "sparse notation$1, seed $2" python3 tests/oracle/sparse_notation.py --cases $(($3 / 8)) --seed "$2" --ricci "$RICCI"
    counted "sparse$1, seed $2" python3 tests/oracle/sparse.py --cases $(($3 / 4)) --seed "$2" --ricci "$RICCI"
}
gradients() {       # LABEL SEED CASES
    counted "gradients$1, seed $2" python3 tests/oracle/gradients.py --cases "$3" --seed "$2" --ricci "$RICCI"
}
precision() {       # LABEL SEED CASES CASES
    counted "precision$1, seed $2" python3 tests/precision/precision.py --cases "$3" --seed "$2" --ricci "$RICCI"
    counted "precision order$1, seed $2" python3 tests/precision/order.py --cases "$4" --seed "$2" --ricci "$RICCI"
    counted "enclosures$1, seed $2" python3 tests/precision/enclosures.py --cases $(($3 / 8)) --seed "$2" --ricci "$RICCI"
}

. tests/suites.sh
. tests/suites_deep.sh

run_suites() {
    local suite
    for suite in $*; do
        case $suite in
        */*) beside ${suite//\// } ;;
        *) timed "$suite" ;;
        esac
    done
}
case ${*:-check} in
check) run_suites "$CHECK" ;;
deep) run_suites "$DEEP" ;;
*) run_suites "$@" ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
