# Builds the extension for a debug build of CPython and runs references.py in it. Usage: references.sh BUILD FOLDER
set -eu
python=python3-dbg
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "not run: reference counts: no debug build of CPython 3.11 (python3-dbg)"
    echo "0 passed, 0 failed"
    exit 0
fi
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
mkdir -p "$2/ricci"
cp python/ricci/*.py "$2/ricci/"
for file in python/ext/*.c; do
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -DRICCI_VERSION='"debug"' -DPy_REF_DEBUG -I. -isystem "$headers" -O1 -g -fPIC \
        -c -o "$2/$(basename "$file" .c).o" "$file"
done
"${CC:-cc}" -shared -Wl,--version-script=python/ext/ext.map -o "$2/ricci/_ricci.abi3.so" "$2"/*.o \
    -Wl,--whole-archive "$1/libricci.a" -Wl,--no-whole-archive -lffi -lm -ldl -lpthread
PYTHONPATH=$2 "$python" tests/python/references.py
