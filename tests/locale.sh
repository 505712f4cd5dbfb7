#!/bin/bash
# Programs in a process whose locale is not "C". A German one writes decimals with a comma, a Turkish one
# has no I for i; what a program prints, reads and says is the same. The golden programs run twice in
# each: with the locale in the environment alone, which the program leaves alone, and with a host that
# took it over, setlocale(LC_ALL, ""), as libricci's may and as C code may that a program calls.
#   tests/locale.sh [all | FILE…]     without one: a sample. RICCI is the binary under test
# Ends with one line: N passed, N failed.
set -u
cd "$(dirname "$0")/.."
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-locale.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TERM=dumb RICCI_PATH= COLUMNS=80 POCL_CACHE_DIR=$PWD/build/pocl XDG_CACHE_HOME=$PWD/build/cache
if ! LOCPATH=$(bash tests/tools/locales.sh 2>"$work/why"); then
    echo "not run: tests/locale.sh: $(cat "$work/why")"
    echo "0 passed, 0 failed"
    exit 0
fi
export LOCPATH
cat >"$work/host.c" <<'C'
#include <locale.h>
#include <stdlib.h>
__attribute__((constructor)) static void host(void)
{
    if (!setlocale(LC_ALL, ""))
        abort();
}
C
${CC:-cc} -shared -fPIC -o "$work/host.so" "$work/host.c" || exit 1

# ---- golden programs ----
# Numbers and words in and out: printing, formats, literals, files, tables, messages.
sample() {
    ls tests/lang/{print,printing,files,profile}/*.ric tests/lang/core/scalars.ric tests/lang/values/*.ric \
       tests/lang/precision/{compare_table,number_*,scope_basic}.ric tests/lang/pictures/*.ric 2>/dev/null
}
goldens() {         # [all | FILE…]
    case ${1:-} in
    "") sample ;;
    all) find tests/lang tests/errors tests/regress -name '*.ric' ! -path '*/lib/*' ! -path "${without:-}" | LC_ALL=C sort ;;
    *) printf '%s\n' "$@" ;;
    esac
}
# C's own printf and strtod, which a program called, have the commas of their host.
suits_host() { [ "$1" != tests/lang/native/call_libc.ric ]; }
# Programs as tests/run.sh observes them; a line that begins with + is one that passed.
golden() {          # LOCALE PRELOAD FILE…
    local file out=$work/out.$BASHPID status
    for file in "${@:3}"; do
        [ "$2" = - ] || suits_host "$file" || continue
        (cd "${file%/*}" && LC_ALL=$1 LD_PRELOAD=${2#-} exec timeout "${LIMIT:-60}" "$RICCI" "${file##*/}" </dev/null >"$out" 2>"$out.2")
        status=$?
        if [ -f "${file%.ric}.sed" ]; then sed -E -i -f "${file%.ric}.sed" "$out"; fi
        if [ -s "$out.2" ]; then { echo '--- stderr'; cat "$out.2"; } >>"$out"; fi
        if [ $status != 0 ]; then echo "--- exit $status" >>"$out"; fi
        if diff -u "${file%.ric}.out" "$out" >"$out.diff"; then echo "+"; else
            echo "FAIL $file in $1$([ "$2" = - ] || echo ", set by the host")"; sed -n '3,20s/^/    /p' "$out.diff"; fi
    done
}
export -f golden suits_host
export work RICCI
without=
"$RICCI" -e 'on opencl { }' >/dev/null 2>&1 || without='tests/lang/opencl/*'
goldens "$@" >"$work/programs"
alone=''
if [ "${1:-}" = all ]; then alone=-; fi           # the sample goes without the way that changes nothing
for locale in de_DE.UTF-8 tr_TR.UTF-8; do
    for preload in $alone "$work/host.so"; do
        xargs -d '\n' -n 8 -P "$(nproc)" bash -c 'golden "$@"' golden "$locale" "$preload" <"$work/programs"
    done
done >"$work/log"

# ---- C code that a program calls ----
# The same before and after it has taken the locale over, in one process.
cat >"$work/taken.ric" <<'RICCI'
extern "libc.so.6" { char *setlocale(int category, const char *name); }
extern "libc.so.6" { char *getenv(const char *name); int snprintf(char *out, size_t n, const char *format, ...); }
folder = getenv("LOCALE_TEST")
write("{folder}/capitals.mtx", "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\n2 2 1\n2 1 1.5E-1\n")
write("{folder}/table.csv", "i,x\n1,1.5\n2,-2.25\n")
fn everything() {
    x = 1.5
    print(x, 2.5e-3, float("2.5"), float("INFINITY"), "{1.5:.2f} {1.5:e} {1234567.5:,.1f}", [0.1, 1e300])
    print(load("{folder}/capitals.mtx"), load("{folder}/table.csv"))
    save("{folder}/out.csv", [1.5, 2.5]); save("{folder}/out.mtx", [0.5, 0; 0, 1])
    print(read("{folder}/out.csv"), read("{folder}/out.mtx"))
    print(rational("1.25"), mp(100)("1.1"), decimal(5)(2.5), f16(0.1), 1.5 + 0.5i, [1.5; 2] \ [3.0; 4])
    print(try { linspace(0.5, 1.5, 2.5) } catch e { e.message }, try { read("{folder}/none") } catch e { e.message[0:30] })
    print(try { quantile([1.0, 2], 1.5) } catch e { e.message })
}
everything()
for name in ["de_DE.UTF-8", "tr_TR.UTF-8", "tr_TR.ISO-8859-9"] {
    print("---"); print(setlocale(6, name) == name)
    everything()
}
text = zeros(8, dtype=i8)
snprintf(text, 8, "%.1f", 1.5)
print("---", cstring(text))
RICCI
LC_ALL=C LOCALE_TEST=$work "$RICCI" "$work/taken.ric" >"$work/taken" 2>&1
awk 'BEGIN { RS = "---\n" } NR == 1 { want = $0 } NR > 1 { sub(/---.*/, ""); print $0 == "true\n" want ? "+" : "FAIL after setlocale:\n" $0 "    not\n" want }
     END { print NR == 4 ? "+" : "FAIL setlocale by C code: the program ended early\n" $0 }' "$work/taken" >>"$work/log"
if [ "$(tail -1 "$work/taken")" = "--- 1,5" ]; then echo +; else echo "FAIL C's own printf has no comma: no locale was taken over"; fi >>"$work/log"

passed=$(grep -c '^+' "$work/log") failed=$(grep -c '^FAIL' "$work/log")
grep -v '^+' "$work/log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
