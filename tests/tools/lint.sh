#!/bin/bash
# The house rules that a machine can check: directories include only downwards, files
# stay readable, every file opens with what it owns, and nothing generated is in git.
set -u
cd "$(dirname "$0")/../.."
passed=0 failed=0
ok() { if [ -z "$2" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1"; echo "$2" | head -20 | sed 's/^/    /'; fi; }

includes() {        # FOLDER ALLOWED…: project includes of FOLDER outside ALLOWED
    local folder=$1 pattern
    shift
    pattern=$(printf '%s|' "$@")
    grep -rnE '^#include "' "$folder" --include='*.c' --include='*.h' --include='*.l' --include='*.y' |
        grep -v '\.def"' | grep -vE "#include \"(${pattern%|})/"
}
ok "core includes upwards" "$(includes core core)"
ok "lexer includes upwards" "$(includes lexer core lexer parser/ast parser/parse grammar | grep -v '"grammar.h"' | grep -v 'parser/')"
ok "parser includes upwards" "$(includes parser core lexer parser | grep -vE '"(grammar|lexer)\.h"')"
ok "kernels include upwards" "$(includes kernels core kernels)"
ok "interp includes upwards" "$(includes interp core lexer parser kernels interp | grep -v '^interp/main.c')"
ok "builtins include upwards" "$(includes builtins core lexer parser kernels interp builtins | grep -v 'interp/main')"
ok "files over 1000 lines" "$(find core lexer parser kernels interp builtins -name '*.[chly]' -exec wc -l {} + | awk '$2 != "total" && $1 > 1000')"
ok "files that do not open with a comment" "$(for f in $(find core lexer parser kernels interp builtins -name '*.[ch]' -o -name '*.def'); do head -c 3 "$f" | grep -qE '^/[*]' || echo "$f"; done)"
ok "lines over 120 columns in C" "$(grep -rnE '^.{121,}' core lexer parser kernels interp builtins --include='*.c' --include='*.h' | cut -c1-100)"
ok "malloc outside the funnel" "$(grep -rnE "\b(malloc|calloc|realloc|strdup)\(" lexer parser kernels interp builtins --include="*.c" | grep -vE "interp/(repl|main|api)")"
ok "generated files in git" "$(git ls-files 2>/dev/null | grep -E '^build/|\.o$|\.tab\.|lex\.yy')"
ok "absolute machine paths" "$(git grep -nE '(^|[^A-Za-z0-9_.])/(work|root|home)/' -- . 2>/dev/null | grep -v 'tests/tools/lint.sh')"
ok "TODO left behind" "$(grep -rnE 'TODO|FIXME|XXX' core lexer parser kernels interp builtins stdlib examples --include='*.[chlyr]*')"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
