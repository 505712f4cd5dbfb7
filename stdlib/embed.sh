#!/bin/sh
# Prints a C table of the standard library's files: embed.sh FILE.ric …
# interp/state/stdlib_files.h declares what it makes.
set -eu
echo '#include <stddef.h>'
echo 'const struct StdlibFile { const char *name, *text; size_t len; } ricci_stdlib[] = {'
for file in "$@"; do
    name=${file#stdlib/} name=${name%.ric}
    printf '    { "%s",\n' "$name"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/        "/' -e 's/$/\\n"/' "$file"
    printf '      , %s },\n' "$(wc -c < "$file")"
done
echo '    { 0, 0, 0 } };'
