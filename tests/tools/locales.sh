#!/bin/bash
# Makes locales that a test wants and the machine need not have installed: in a Turkish one "I" is no
# capital of "i", in a German one decimals have a comma. Prints the folder, for LOCPATH; where they
# cannot be made it prints why on stderr and ends with status 1.
#   tests/tools/locales.sh [FOLDER]      the folder is build/locales; what is there is not made again
set -u
cd "$(dirname "$0")/../.."
folder=${1:-$PWD/${BUILD:-build}/locales}
mkdir -p "$folder" || exit 1
for name in de_DE.UTF-8 tr_TR.UTF-8 tr_TR.ISO-8859-9; do
    [ -e "$folder/$name/LC_CTYPE" ] && continue
    if ! command -v localedef >/dev/null; then echo "there is no localedef" >&2; exit 1; fi
    made=$(mktemp -d "$folder/new.XXXXXX")       # two tests may make it at the same time
    # What it says of a charmap's details is a warning, and status 1.
    localedef -i "${name%%.*}" -f "${name#*.}" "$made/$name" >"$made/log" 2>&1
    [ -e "$made/$name/LC_CTYPE" ] && mv -T "$made/$name" "$folder/$name" 2>/dev/null
    rm -rf "$made"
    [ -e "$folder/$name/LC_CTYPE" ] || { echo "localedef has no $name (package locales)" >&2; exit 1; }
done
echo "$folder"
