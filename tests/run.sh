#!/bin/bash
# The whole test suite: tests/run.sh [SUITE…]. Suites: lint unit golden cli docs errors examples stdlib
# residual devices native install repl oracle precision sanitize (these by default), asan ubsan hostile;
# a,b/c,d runs a and then b beside c and then d. Ends with one line: N passed, N failed.
#   RICCI   the binary under test (build/ricci)      BLESS=1  rewrites golden outputs
set -u
cd "$(dirname "$0")/.."
RICCI=${RICCI:-$PWD/build/ricci}
BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-tests.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
# Kernels that an OpenCL driver compiled in an earlier run.
export POCL_CACHE_DIR=$PWD/build/pocl XDG_CACHE_HOME=$PWD/build/cache
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
    if [ "$f" != 0 ]; then echo "FAIL $1: $line"; grep -a FAIL "$2" | head -20 | sed 's/^/    /'; fi
    [ "$f" = 0 ] && [ "$3" != 0 ] && fail "$1 (exit $3 after $line)" "$2"
}

# Runs `COMMAND … k jobs` for every k < jobs at the same time; each has a folder of its own. Their
# failures are shown and their counts added.
shared() {          # COMMAND ARGUMENT…
    local k p f part
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

# Suites that use one core each, at the same time: every LIST (a,b,c) is run in its order.
beside() { shared beside_part "$@"; }
beside_part() {     # LIST… PART PARTS
    local part=${*: -2:1} parts=${*: -1} at=0 list suite
    for list in "${@:1:$#-2}"; do
        if [ $((at++ % parts)) = "$part" ]; then for suite in ${list//,/ }; do timed "$suite"; done; fi
    done
}
timed() {           # SUITE
    local before=$((passed + failed)) start=$SECONDS
    "suite_$1"
    echo "$1: $((passed + failed - before)) tests in $((SECONDS - start)) s"
}

# What a script does, as its golden file records it; NAME.sed beside it takes out what differs from
# run to run.
observe() {         # BINARY FILE OUT
    local status
    (cd "$(dirname "$2")" && timeout "${LIMIT:-60}" "$1" "$(basename "$2")" </dev/null >"$3.stdout" 2>"$3.stderr")
    status=$?
    if [ -f "${2%.ric}.sed" ]; then sed -E -i -f "${2%.ric}.sed" "$3.stdout"; fi
    cat "$3.stdout" >"$3"
    if [ -s "$3.stderr" ]; then { echo '--- stderr'; cat "$3.stderr"; } >>"$3"; fi
    if [ $status != 0 ]; then echo "--- exit $status" >>"$3"; fi
}

# Messages that differ in words run the same code: `make check` reads every second one under the
# sanitizers; asan, ubsan and hostile read all.
thinned() {         # LABEL
    if [ "$1" = sanitize ]; then awk '!/^tests\/errors/ || n++ % 2 == 0'; else cat; fi
}

golden_part() {     # BINARY LABEL PART PARTS
    local file out=$work/observed
    while IFS= read -r file; do
        observe "$1" "$file" "$out"
        if [ "${BLESS:-}" = 1 ]; then cp "$out" "${file%.ric}.out"; pass; continue; fi
        if [ ! -f "${file%.ric}.out" ]; then fail "$2 $file: no .out file"; continue; fi
        if diff -u "${file%.ric}.out" "$out" >"$work/diff" 2>&1; then pass; else fail "$2 $file" "$work/diff"; fi
    done < <(find tests/lang tests/errors tests/regress -name '*.ric' ! -path '*/lib/*' ! -path "${without:-}" 2>/dev/null | LC_ALL=C sort | thinned "$2" | awk "NR % $4 == $3")
}
golden() {          # BINARY LABEL
    without=
    if ! "$1" -e 'on opencl { }' >/dev/null 2>&1; then
        without='tests/lang/opencl/*'
        echo "not run: $without: no OpenCL platform"
    fi
    shared golden_part "$@"
}

# Ten seconds and more each, or a few of a driver's compiler: the light sanitizer build of `make check`
# leaves them to asan and ubsan, and does not link them.
export LEAVE="contract_pair linalg nest_plan nest_stage reduce gpu_nest semiring formats arith_binary"
units_part() {      # FOLDER LABEL PART PARTS
    local unit
    for unit in $(ls tests/unit/*.c | awk "NR % $4 == $3"); do
        unit=$(basename "$unit" .c)
        case "$2 $LEAVE " in " sanitize"*" $unit "*) continue ;; esac
        plain_kernels timeout 120 "$1/$unit" </dev/null >"$work/log" 2>&1
        count "unit $unit$2" "$work/log" $?
    done
}

suite_lint() {
    bash tests/tools/lint.sh >"$work/log" 2>&1
    count lint "$work/log" $?
}
suite_unit() {
    $MAKE --no-print-directory -s -j"$jobs" units >"$work/log" 2>&1 || fail "units do not build" "$work/log"
    shared units_part "$BUILD/unit" ""
}
suite_golden() { golden "$RICCI" golden; }
# Calls into our own C library: every C type with every kind of value.
native() {          # BINARY LABEL
    local file
    $MAKE --no-print-directory -s BUILD="$BUILD" "$BUILD/native/libriccitest.so" >"$work/log" 2>&1 || { fail "tests/native/lib.c does not build" "$work/log"; return; }
    for file in tests/native/*.ric; do
        LD_LIBRARY_PATH=$PWD/$BUILD/native observe "$1" "$file" "$work/observed"
        if [ "${BLESS:-}" = 1 ]; then cp "$work/observed" "${file%.ric}.out"; fi
        if diff -u "${file%.ric}.out" "$work/observed" >"$work/diff" 2>&1; then pass; else fail "$2 $file" "$work/diff"; fi
    done
}
suite_native() { native "$RICCI" native; }
suite_cli() {
    RICCI=$RICCI bash tests/cli.sh >"$work/log" 2>&1
    count cli "$work/log" $?
    RICCI=$RICCI bash tests/tools.sh >"$work/log" 2>&1
    count tools "$work/log" $?
    if command -v python3 >/dev/null; then
        RICCI=$RICCI timeout 120 python3 tests/editors.py >"$work/log" 2>&1
        count editors "$work/log" $?
    else
        echo "not run: tests/editors.py: there is no python3"
    fi
}
suite_docs() {
    timeout 300 "$RICCI" doctest --tolerance 1e-12 README.md docs/*.md </dev/null >"$work/log" 2>&1
    count docs "$work/log" $?
    grep -aA12 '^FAIL' "$work/log" | head -60
    "$RICCI" doc --all >"$work/manual" 2>&1
    if diff -u docs/library.md "$work/manual" >"$work/diff"; then pass; else
        fail "docs/library.md is not what the registry says: make manual" "$work/diff"; fi
}
suite_examples() { shared examples_part; }
examples_part() {   # PART PARTS
    local file
    for file in $(ls examples/*.ric examples/*/*.ric | awk "NR % $2 == $1"); do
        if [ ! -f "${file%.ric}.out" ]; then
            timeout 120 "$RICCI" "$file" </dev/null >"$work/log" 2>&1
            local status=$?
            if [ $status = 0 ] && [ -s "$work/log" ]; then pass; else fail "$file (exit $status)" "$work/log"; fi
        else
            observe "$RICCI" "$file" "$work/observed"
            if head -1 "$work/observed" | grep -q "^not run: there is no library"; then
                echo "not run: $file: $(head -1 "$work/observed" | cut -d' ' -f3-)"
                continue
            fi
            if [ "${BLESS:-}" = 1 ]; then cp "$work/observed" "${file%.ric}.out"; fi
            if diff -u "${file%.ric}.out" "$work/observed" >"$work/diff"; then pass; else fail "$file" "$work/diff"; fi
        fi
        if grep -q '^test "' "$file"; then
            timeout 120 "$RICCI" test "$file" </dev/null >"$work/log" 2>&1
            count "test $file" "$work/log" $?
        fi
    done
}
suite_stdlib() {
    local file
    for file in stdlib/*.ric; do
        timeout 120 "$RICCI" test "$file" </dev/null >"$work/log" 2>&1
        count "test $file" "$work/log" $?
    done
}
# What `make install` puts where, and a C program that uses the library.
suite_install() {
    local root=$work/root file
    if ! $MAKE --no-print-directory -s install DESTDIR="$root" PREFIX=/usr >"$work/log" 2>&1; then fail "make install" "$work/log"; return; fi
    for file in bin/ricci lib/libricci.a include/ricci.h lib/pkgconfig/ricci.pc share/man/man1/ricci.1 share/bash-completion/completions/ricci \
                share/zsh/site-functions/_ricci share/fish/vendor_completions.d/ricci.fish share/ricci/vim/syntax/ricci.vim; do
        if [ -s "$root/usr/$file" ]; then pass; else fail "make install left out $file"; fi
    done
    local libs
    libs=$(sed -n 's/^Libs: -L[^ ]* //p' "$root/usr/lib/pkgconfig/ricci.pc")
    ${CC:-cc} -o "$work/embed" examples/embed.c -I"$root/usr/include" -L"$root/usr/lib" $libs >"$work/log" 2>&1 || { fail "embed.c does not build" "$work/log"; return; }
    "$work/embed" >"$work/log" 2>&1
    if diff -u examples/embed.out "$work/log" >"$work/diff"; then pass; else fail "embed.c" "$work/diff"; fi
    if ${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$root/usr/include/ricci.h" >"$work/log" 2>&1; then pass; else fail "ricci.h as C99" "$work/log"; fi
    command -v "${CXX:-c++}" >/dev/null || { echo "not run: ricci.h as C++: no compiler"; return; }
    if ${CXX:-c++} -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ "$root/usr/include/ricci.h" >"$work/log" 2>&1; then pass; else fail "ricci.h as C++" "$work/log"; fi
}
# Scaled residuals of every linear algebra routine × dtype × size × layout.
suite_residual() { shared residual_part; }
residual_part() {   # PART PARTS
    local file
    for file in $(ls tests/residual/*.ric | awk "NR % $2 == $1"); do
        (cd tests/residual && timeout 300 "$RICCI" "$(basename "$file")") </dev/null >"$work/log" 2>"$work/notices"
        local status=$?
        grep -a '^error' "$work/notices" >>"$work/log"
        count "$file" "$work/log" $status
    done
}
# Every row on every device, in parts; and the table of it that the docs show.
suite_devices() {
    $MAKE --no-print-directory -s "$BUILD/devices/matrix" >"$work/log" 2>&1 || { fail "tests/devices does not build" "$work/log"; return; }
    shared devices_part
    "$BUILD/devices/matrix" --table >"$work/table" 2>/dev/null
    if diff -u docs/devices.md "$work/table" >"$work/diff"; then pass; else
        fail "docs/devices.md is not what the devices do: make manual" "$work/diff"; fi
}
devices_part() {    # PART PARTS
    plain_kernels timeout 300 "$BUILD/devices/matrix" --part="$1/$2" sim.mps sim.tpu opencl+math cuda </dev/null >"$work/log" 2>/dev/null
    local status=$?
    grep -a '^FAIL' "$work/log" | head -20
    count "devices" "$work/log" $status
    if [ "$1" = 0 ]; then
        plain_kernels timeout 300 "$RICCI" tests/devices/lapack.ric cpu sim.tpu sim.mps opencl cuda </dev/null >"$work/log" 2>&1
        count "devices/lapack.ric" "$work/log" $?
    else
        plain_kernels timeout 300 "$BUILD/devices/matrix" --run=tests/devices/lapack.ric opencl:0+math </dev/null >"$work/log" 2>&1
        status=$?
        grep -aq '^not run' "$work/log" || count "devices/lapack.ric, opencl with a LAPACK" "$work/log" $status
    fi
}
# What errors offer works when it is pasted, and the stories of --explain are true.
suite_errors() {
    local tool
    for tool in fixes kinds; do
        timeout 300 python3 tests/tools/$tool.py "$RICCI" </dev/null >"$work/log" 2>&1
        count "$tool" "$work/log" $?
        grep -aA1 '^FAIL' "$work/log" | head -40
    done
}
suite_repl() {
    RICCI=$RICCI timeout 300 python3 tests/repl/run.py </dev/null >"$work/log" 2>&1
    count repl "$work/log" $?
}
# Random index notation against plain loops: a fixed sample; `make soak` runs many more.
suite_oracle() {
    timeout 300 python3 tests/oracle/oracle.py --cases 3000 --seed 1 --ricci "$RICCI" </dev/null >"$work/log" 2>&1
    count oracle "$work/log" $?
    grep -a -A6 '^FAIL' "$work/log" | cut -c1-300 | head -40
}
# Random programs in precision scopes against exact fractions, bit for bit: a fixed sample.
suite_precision() {
    timeout 300 python3 tests/precision/precision.py --cases 2000 --seed 1 --ricci "$RICCI" </dev/null >"$work/log" 2>&1
    count precision "$work/log" $?
    grep -a -A12 '^FAIL' "$work/log" | cut -c1-300 | head -60
    timeout 300 python3 tests/precision/order.py --cases 120 --seed 1 --ricci "$RICCI" </dev/null >"$work/log" 2>&1
    count "precision order" "$work/log" $?
    grep -a -A3 '^FAIL' "$work/log" | cut -c1-300 | head -40
}
# The golden tests and unit tests again under a sanitizer or the hostile build.
sanitized() {       # MODE
    local place=$BUILD/$1
    $MAKE --no-print-directory -s -j"$jobs" MODE="$1" BUILD="$place" all units "$place/embed" >"$work/log" 2>&1 ||
        { fail "MODE=$1 does not build" "$work/log"; return; }
    golden "$PWD/$place/ricci" "$1"
    native "$PWD/$place/ricci" "native $1"
    shared units_part "$place/unit" " $1"
    timeout 60 "$place/embed" >"$work/log" 2>&1
    if diff -u examples/embed.out "$work/log" >"$work/diff"; then pass; else fail "examples/embed.c $1" "$work/diff"; fi
    shared sanitized_part "$1" "$place"
}
sanitized_part() {  # MODE PLACE PART PARTS
    local place=$2
    if [ "$3" = 0 ]; then
        RICCI=$PWD/$place/ricci QUICK=1 bash tests/cli.sh >"$work/log" 2>&1
        count "cli $1" "$work/log" $?
    fi
    [ "$3" = $(($4 - 1)) ] || return
    timeout 300 python3 tests/oracle/oracle.py --cases 150 --seed 2 --ricci "$place/ricci" </dev/null >"$work/log" 2>&1
    count "oracle $1" "$work/log" $?
    timeout 300 python3 tests/precision/precision.py --cases 80 --seed 2 --ricci "$place/ricci" </dev/null >"$work/log" 2>&1
    count "precision $1" "$work/log" $?
}
# PoCL (LLVM) puts its own alternate signal stack in place, which the sanitizer would unmap. The leak
# checker guesses where other libraries' thread-local data lies, and hangs where it guesses wrong.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99:use_sigaltstack=0:handle_sigill=1:intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/tests/tools/lsan.supp:print_suppressions=0
suite_sanitize() { LIMIT=120 sanitized sanitize; }
suite_asan() { LIMIT=120 sanitized asan; }
suite_ubsan() { LIMIT=120 sanitized ubsan; }
suite_hostile() { LIMIT=120 sanitized hostile; }

suites=${*:-unit golden cli,lint,docs,oracle,precision/repl,errors examples stdlib residual devices native install sanitize}
for suite in $suites; do
    case $suite in
    */*) beside ${suite//\// } ;;
    *) timed "$suite" ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
