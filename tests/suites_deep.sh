# The suites of `make check-deep`, sourced by tests/run.sh: processors that this one can stand for,
# sanitizers, builds that are hostile on purpose, allocations that fail, races, fresh seeds. A suite is one
# function here, suite_NAME, and its word in the list DEEP of tests/run.sh. What a machine cannot run says
# `not run: …` by its name.

# PoCL (LLVM) puts its own alternate signal stack in place, which the sanitizer would unmap. The leak
# checker guesses where other libraries' thread-local data lies, and hangs where it guesses wrong. Kernels
# end with SIGILL where their behaviour is undefined.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99:use_sigaltstack=0:intercept_tls_get_addr=0:handle_sigill=1
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/tests/tools/lsan.supp:print_suppressions=0
export TSAN_OPTIONS=suppressions=$PWD/tests/tools/tsan.supp:exitcode=66:ignore_noninstrumented_modules=1

# With the variables set, its failures under their name.
under() {           # "NAME=VALUE…" COMMAND…
    local p f
    ( passed=0 failed=0; export $1; "${@:2}"; echo "$passed $failed" >"$work/under" ) | sed "s|^FAIL|FAIL ${1%% RICCI_ROUNDING_OF*}:|; s|^not run|& (${1%% RICCI_ROUNDING_OF*})|"
    read -r p f <"$work/under" || { fail "$1 broke off"; return; }
    rm "$work/under"
    passed=$((passed + p)) failed=$((failed + f))
}
lacks() {           # FLAG…: says which flags of /proc/cpuinfo the processor lacks; false where none
    local flag lacking=
    for flag in $*; do grep -qw "$flag" /proc/cpuinfo || lacking="$lacking $flag"; done
    [ -n "$lacking" ] && echo "the processor lacks$lacking"
}
built() {           # MODE TARGET…: of its folder
    build MODE="$1" BUILD="$BUILD/$1" all "${@:2}"
}

# ---- groups of processes ----
suite_mpi_deep() {
    local unit
    build units || return
    for unit in mpi grid grid_algebra; do LIMIT=600 counted "unit $unit all" "$BUILD/unit/$unit" all; done
    GROUPS_OF=50 script mpi tests/mpi/life.sh
    script hosts tests/mpi/hosts.sh
    script bytes tests/mpi/bytes.sh
}

# ---- processors ----
# Which kernels a library takes changes how it rounds, and the number of threads in which order it adds;
# both change with the machine. A golden file that holds on every axis, OpenBLAS's kernels for other
# processors, its threads, ours, our instruction sets, prints nothing that depends on rounding; nor does
# one that holds with a library that rounds up or down all the time, which is further off than any
# processor. The product of them all would take hours: three rows change all axes together, from the
# oldest of everything on one thread to the widest on four, and the others what those leave out, for
# golden files alone.
AVX512="avx512f avx512bw avx512dq avx512vl"
# Each part walks through all rows, from another one on, and takes of each what nobody has taken: at the end
# none waits for a row of another.
ROWS="Prescott Sandybridge LAPACK Nehalem Haswell SkylakeX threads up down"
suite_matrix() {
    build "$BUILD/stub/rounding/libopenblas.so.0" || return
    golden_without "$RICCI"
    shared matrix_part
}
matrix_part() {     # PART PARTS
    local jobs=1 rows=($ROWS) k n all=$taken
    n=${#rows[@]}
    for ((k = $1 * n / $2; k < $1 * n / $2 + n; k++)); do
        taken=$all/${rows[k % n]}
        mkdir -p "$taken"
        matrix_row "${rows[k % n]}"
    done
}
matrix_row() {
    case $1 in
    Prescott) row "" goldens OPENBLAS_CORETYPE=Prescott ;;
    Sandybridge) row "avx" goldens OPENBLAS_CORETYPE=Sandybridge ;;
    LAPACK) row "" goldens RICCI_LAPACKE=0 ;;
    Nehalem) row "sse4_2" printed OPENBLAS_CORETYPE=Nehalem RICCI_ISA=base RICCI_THREADS=1 OPENBLAS_NUM_THREADS=1 ;;
    Haswell) row "avx2 fma" printed OPENBLAS_CORETYPE=Haswell RICCI_ISA=avx2 RICCI_THREADS=4 OPENBLAS_NUM_THREADS=1 ;;
    SkylakeX) row "$AVX512" printed OPENBLAS_CORETYPE=SkylakeX RICCI_ISA=avx512 RICCI_THREADS=1 OPENBLAS_NUM_THREADS=4 ;;
    threads) row "" goldens RICCI_THREADS=4 OPENBLAS_NUM_THREADS=4 ;;
    up | down) rounding "$1" ;;
    esac
}
row() {             # FLAGS WHAT NAME=VALUE…
    local why
    if why=$(lacks $1); then take lacks && echo "not run: ${*:3}: $why"; return; fi
    under "${*:3}" "$2"
}
# What cannot hold there: where sums overflow, the largest number takes the place of infinity, and our
# stub has no cblas, nor all that a ScaLAPACK wants.
rounding() {        # WAY
    local real stub=$BUILD/stub/rounding/libopenblas.so.0
    real=$(/sbin/ldconfig -p | awk '/libopenblas\.so\.0 .*x86-64/ { print $NF; exit }')
    if [ -z "$real" ]; then take lacks && echo "not run: a library that rounds $1: there is no OpenBLAS for x86-64"; return; fi
    LEAVE="tests/lang/linalg/solve_warnings.ric tests/errors/numeric_subnormal.ric examples/native/cblas.ric examples/mpi/pca.ric examples/mpi/poisson.ric" \
        under "RICCI_ROUNDING=$1 RICCI_ROUNDING_OF=$(readlink -f "$real") RICCI_LAPACK_STOP=0 LD_LIBRARY_PATH=$PWD/${stub%/*}" printed
}
goldens() { golden_part "$RICCI" golden; }
# All that prints numbers.
printed() { take docs && suite_docs; examples_part; goldens; }

# A build without the wing of native code and without machine code of loops, of the objects that are there but
# for those that name them: all programs of the tests that do not speak of it.
suite_without() {
    local bin=$BUILD/without native='extern|as_tensor|ptr|pin|unpin|sizeof|offsetof|errno|cstring|null'
    build all || return
    rm -rf "$bin" && mkdir -p "$bin" && cp -rl "$BUILD/obj" "$BUILD/gen" "$bin"
    rm -f "$bin/obj/interp/life.o" "$bin/obj/builtins/table.o" "$bin/obj/interp/program/main_usage.o"
    build WITHOUT="native jit" BUILD="$bin" "$bin/ricci" || return
    LEAVE=$(echo $(grep -lwE "$native" tests/lang/*/*.ric tests/errors/*.ric tests/regress/*.ric) tests/lang/native/*.ric) \
        golden "$PWD/$bin/ricci" "without native"
}

# The units, residuals and samples of the oracles on every instruction set below the machine's own, whose
# turn was in check.
suite_twins() {
    build units || return
    local level flags why own
    own=$("$RICCI" --version)
    while read -r level flags; do
        case $own in *"($level)") continue ;; esac
        if why=$(lacks $flags); then echo "not run: RICCI_ISA=$level: $why"; continue; fi
        under "RICCI_ISA=$level" twin
    done <<LIST
base
avx2 avx2 fma
avx512 $AVX512
LIST
}
twin() {
    shared units_part "$BUILD/unit" ""
    suite_residual
    oracle "" "$SEED" 1000
}

# ---- other builds: all that the release build runs, whole ----
other() {           # MODE
    local RICCI=$PWD/$BUILD/$1/ricci place=$BUILD/$1
    built "$1" units "$place/embed" || return
    native "$RICCI" "native $1"
    timeout 60 "$place/embed" >"$work/log" 2>&1
    if diff -u examples/embed.out "$work/log" >"$work/diff"; then pass; else fail "examples/embed.c $1" "$work/diff"; fi
    golden_without "$RICCI"
    shared other_part "$1" "$place"
}
# What takes longest first, and nobody waits before all is taken.
other_part() {      # MODE PLACE
    take cli && LIMIT=900 script "cli $1" tests/cli.sh
    take helps && helps "$1"
    take stdlib && suite_stdlib
    # they name the kernels that a reader's build takes
    [ "$1" != hostile ] && take docs && suite_docs
    take oracle && oracle " $1" "$SEED" 400
    take precision && precision " $1" "$SEED" 200 12
    units_part "$2/unit" " $1"
    golden_part "$RICCI" "$1"
}
# That were pasted: the address sanitizer takes its time to start, a third of them will do.
helps() {           # MODE
    if [ "$1" = asan ]; then
        script "fixes asan" tests/tools/fixes.py "$RICCI" $(ls tests/errors/*.ric | awk -F'[/.]' 'NR % 3 == 0 { print $3 }')
    else
        suite_errors
    fi
}
suite_asan() { LIMIT=300 other asan; }
# Every golden program inside a lazy block, also where invariants are asserted.
suite_lazy() {
    script lazy tests/lazy/run.sh all
    built asan && RICCI=$PWD/$BUILD/asan/ricci LIMIT=1800 EACH=300 script "lazy, asan" tests/lazy/run.sh quick
}
suite_hostile() { LIMIT=300 other hostile; }

# The n-th allocation fails, for every n in turn: a clean error or the right answer, and no leak.
suite_sweep() {
    local mode
    for mode in hostile asan; do built $mode && shared sweep_part $mode; done
}
sweep_part() {      # MODE PART PARTS: all in the hostile build, every eighth with the leak checker (`make fuzz`: all)
    LIMIT=1200 script "sweep $1" tests/tools/sweep.py "$BUILD/$1/ricci" --part="$2/$3" $([ "$1" = asan ] && echo --step=8)
}

# Races: the pool, two interpreters at once, interrupts. OpenBLAS and PoCL are not instrumented, which
# tests/tools/tsan.supp says of them.
TSAN_UNITS="threads api eval fuse reduce contract contract_pair nest_stage mem blas_stop signals rng semiring linalg"
suite_tsan() {
    built tsan $(printf "$BUILD/tsan/unit/%s " $TSAN_UNITS) || return
    under RICCI_THREADS=4 shared tsan_part "$PWD/$BUILD/tsan"
}
tsan_part() {       # PLACE
    local unit file
    for unit in $TSAN_UNITS; do
        take "$unit" && LIMIT=300 counted "unit $unit tsan" "$1/unit/$unit"
    done
    for file in tests/lang/fuse/*.ric tests/lang/reduce/*.ric tests/lang/index*/*.ric tests/lang/linalg/*.ric; do
        take "$file" && LIMIT=120 golden_file "$1/ricci" tsan "$file"
    done
}
suite_interrupts() {
    LIMIT=300 script interrupts tests/repl/interrupts.py
}
# A signal waits there until code that it watches runs, which machine code of loops is not.
suite_interrupts_tsan() {
    built tsan && MOMENTS=50 RICCI_JIT=0 RICCI=$PWD/$BUILD/tsan/ricci SLOW=30 LIMIT=600 script "interrupts tsan" tests/repl/interrupts.py
}

# ---- machine code ----
# Of every loop from its second iteration on, by either generator: the golden programs, and JIT_CASES random
# ones with it and without.
suite_jit() {
    under "RICCI_JIT=now" suite_golden
    under "RICCI_JIT=quick" suite_golden
    script "no memory for machine code" tests/jit/memory.py
    script "Ctrl-C in machine code" tests/jit/interrupt.py
    script "pages that may not run" tests/jit/pages.py
    LIMIT=3600 script "random loops, seed $SEED" tests/jit/programs.py --seed "$SEED" --cases "${JIT_CASES:-200}" --ricci "$RICCI"
}

# ---- what is random, from a seed that is new with every commit and printed ----
suite_seeds() { beside seeds_precision seeds_oracle,seeds_gradients,seeds_distributions; }
suite_seeds_oracle() { LIMIT=600 oracle "" "$SEED" 12000; }
suite_seeds_precision() { LIMIT=600 precision "" "$SEED" 8000 400; }
suite_seeds_gradients() { LIMIT=600 gradients "" "$SEED" 8000; }
suite_seeds_distributions() { LIMIT=600 script "distributions, seed $SEED" tests/oracle/distributions.py --seed "$SEED"; }
suite_deep_locale() { LIMIT=900 script "locale, all" tests/locale.sh all; }
suite_deep_attack() { built asan && RICCI=$PWD/$BUILD/asan/ricci LIMIT=600 script "attack asan" tests/attack/run.py; }
suite_deep_crash() { built asan && RICCI=$PWD/$BUILD/asan/ricci LIMIT=900 script "files asan" tests/files.py; }
# Every fuzzer of tests/fuzz that is a program, under the sanitizers, with a seed that stays (FUZZ_SEED):
# campaigns with new ones are `make fuzz`.
suite_fuzz() {
    built asan || return
    shared fuzz_part "$PWD/$BUILD/asan/ricci"
}
fuzz_part() {       # BINARY
    local file seconds=${FUZZ_SECONDS:-25} seed=${FUZZ_SEED:-1}
    for file in $(grep -l '__main__' tests/fuzz/*.py); do
        take "$file" || continue
        RICCI=$1 LIMIT=$((seconds + 300)) script "$file, seed $seed" "$file" --seconds "$seconds" --seed "$seed"
    done
}
# References that the module of Python leaves behind, seen by a debug build of CPython.
suite_deep_python() { counted references bash tests/python/references.sh "$BUILD" "$work/debug"; }
# A kernel of notebooks that lives long.
suite_deep_jupyter() { CELLS=10000 script jupyter tests/jupyter/run.py many_cells; }
