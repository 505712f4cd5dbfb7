#!/bin/bash
# The house rules that a machine can check: files stay readable, every file opens with what it owns, and
# nothing generated is in git. The order of the rooms is rooms.py's.
set -u
cd "$(dirname "$0")/../.."
passed=0 failed=0
ok() { if [ -z "$2" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1"; echo "$2" | head -20 | sed 's/^/    /'; fi; }

ok "files over 1000 lines" "$(find core lexer parser kernels interp builtins -name '*.[chly]' -exec wc -l {} + | awk '$2 != "total" && $1 > 1000')"
ok "files that do not open with a comment" "$(for f in $(find core lexer parser kernels interp builtins -name '*.[ch]' -o -name '*.def'); do head -c 3 "$f" | grep -qE '^/[*]' || echo "$f"; done)"
# The help's texts stand as they are printed.
ok "lines over 100 columns in C" "$(LC_ALL=C.UTF-8 grep -rnE '^.{101,}' core lexer parser kernels interp builtins bench python/ext --include='*.c' --include='*.h' | grep -v '^builtins/help/help\.c:' | cut -c1-100)"
# Outside the funnel on purpose: the program (readline frees what it is given, it starts
# before an Interp exists, and a kernel's messages pass from thread to thread), the C interface (its caller frees the text), and the Interp itself,
# which the funnel's account is a part of; GMP, which cannot be told that there is no memory;
# SuiteSparse while it works for nobody of ours; and what C may call when the interpreter has ended.
ok "malloc outside the funnel" "$(grep -rnE "\b(malloc|calloc|realloc|strdup)\(" lexer parser kernels interp builtins --include="*.c" |
    grep -vE "^interp/(session|jupyter|program|embed)/" | grep -v '^interp/life.c:.*Interp \*in = calloc(1, sizeof \*in)' | grep -vE '^(kernels/rational/gmp|kernels/elimination/suitesparse_heap|interp/native/native_callback)\.c:')"
# What an operation is stands in its row.
ok "names of operations compared" "$(python3 tests/tools/names.py)"
ok "dtypes named where the table should be asked" "$(python3 tests/tools/dtypes.py)"
# Numbers and letters are the same whatever locale the program around us has.
ok "calls that ask the locale" "$(awk -f tests/tools/locale.awk $(find core lexer parser kernels interp builtins -name '*.[chly]'))"
# State of the process, each with its reason beside it: the interrupt flag and readline's own
# (the program), libraries that are loaded once (and GMP's memory, which knows no context), the
# ring of texts behind dtype_name, the level of instruction set, the
# error that says there is no memory; the locale object (c_locale); where the stack of a thread is; what signal handlers need
# (native_fault); and BLAS's entries, with the context that LAPACK, which knows none, may raise into
# (blas_stop); the folders that were looked through for leftovers (fd); how often the process
# was forked (forks); the groups of this process, which a forked child closes, and what was found to
# start them (group, group_launch), and what a signal told (keeper); how fast this machine was
# measured to be (rates, contract_pair_model), read once.
ok "mutable globals" "$(grep -rnE '^ *(static|_Thread_local) [^(]*(;|=)' core lexer parser kernels interp builtins --include='*.[chl]' |
    grep -vE '\bconst\b|static inline|_Atomic\(void \*\) slot|^interp/life\.c:.*_Thread_local .*known' |
    grep -vE '^(interp/(program/main\.c|native/native_fault\.c|session/)|kernels/[a-z]*/(blas|blas_room|blas_stop|lapacke|suitesparse|suitesparse_heap|llvm|cpu|fft|ew_sleef|gmp|mpfr|flint|arb|dnnl|opencl_load|opencl_probe|cuda_load|dtype|group|group_launch|keeper|rates|contract_pair_model)\.c:|builtins/pictures/picture_cairo\.c|core/[a-z]*/(error|fd|mapping|c_locale|forks)\.c:)')"
ok "generated files in git" "$(git ls-files 2>/dev/null | grep -E '^build/|\.o$|\.tab\.|lex\.yy')"
ok "files at the root that nobody named" "$(git ls-files 2>/dev/null | grep -v / | grep -vxE '\.gitignore|[A-Z]+(\.md)?|Makefile|pyproject\.toml')"
ok "absolute machine paths" "$(git grep -nE '(^|[^A-Za-z0-9_.])/(work|root|home)/' -- . 2>/dev/null | grep -v 'tests/tools/lint.sh')"
ok "TODO left behind" "$(grep -rnwE 'TODO|FIXME|XXX' core lexer parser kernels interp builtins stdlib examples)"
# Not a failure: a function over 60 lines is to have its reason.
for f in $(find core lexer parser kernels interp builtins -name '*.[ch]'); do
    awk -v f="$f" '/^[A-Za-z_].*\)( \{)?$/ { head = $0; at = NR }
        /^\}$/ { if (at && NR - at > 60) printf "note: %s:%d: %d lines: %s\n", f, at, NR - at + 1, head; at = 0 }' "$f"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
