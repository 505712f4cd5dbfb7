#!/bin/bash
# What a file is called, or says, steers no terminal: every message that shows a path, a name out of a
# file or a word of the command line is made with ESC in it, and none may come out. A new way to say a
# path belongs into this list. Ends with one line: N passed, N failed.
set -u
cd "$(dirname "$0")/.."
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-plain.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TERM=dumb RICCI_PATH= COLUMNS=80 LC_ALL=C.UTF-8 HOME=$work
cd "$work" || exit 1
passed=0 failed=0
E=$(printf 'a\033[31mb')
steers='\x1b|\xc2[\x80-\x9f]'                  # ESC, and the control characters above ASCII

probe() {           # NAME COMMAND…
    local name=$1
    shift
    "$@" </dev/null >out 2>&1
    if [ ! -s out ]; then failed=$((failed + 1)); echo "FAIL $name says nothing"
    elif LC_ALL=C grep -qaP "$steers" out; then
        failed=$((failed + 1)); echo "FAIL $name"; LC_ALL=C grep -aP "$steers" out | head -3 | cat -v | sed 's/^/    /'
    else passed=$((passed + 1)); fi
}
program() {         # PROGRAM: E in it is the name
    printf '%s\n' "${1//E/a\\u\{1b\}[31mb}" >program.ric
    probe "$1" "$RICCI" program.ric
}

# ---- the command line ----
mkdir "folder$E" && touch "folder$E/x"
printf 'x = 1\nx +\n' >"syntax$E.ric"
printf 'print(zzz)\n' >"name$E.ric"
printf 'x=1\n' >"form$E.ric"
printf 'test "it" { assert 1 == 2 }\n' >"fails$E.ric"
printf 'test "%s" { assert 1 == 1 }\n' it >"holds$E.ric"
printf '```\n1 + 1 # 3\n```\n\n```\nprint(zzz)\n```\n' >"text$E.md"
printf '```ricci\nx = 1\nprint("%s")\n# => b\n```\n' "$E" >"says$E.md"
printf 'a\0b' >"nul$E.md"
probe "a file that is missing" "$RICCI" "missing$E.ric"
probe "a folder" "$RICCI" "folder$E"
probe "a syntax error" "$RICCI" "syntax$E.ric"
probe "an error" "$RICCI" "name$E.ric"
probe "an option" "$RICCI" "--opt$E"
probe "a word of a subcommand" "$RICCI" test "--opt$E"
probe "fmt" "$RICCI" fmt "syntax$E.ric"
probe "fmt --check" "$RICCI" fmt --check "form$E.ric"
probe "fmt --diff" "$RICCI" fmt --diff "form$E.ric"
probe "fmt of what is missing" "$RICCI" fmt "missing$E.ric"
probe "test" "$RICCI" test "fails$E.ric"
probe "test -v" "$RICCI" test -v "holds$E.ric"
probe "test --list" "$RICCI" test --list "holds$E.ric"
probe "test -k" "$RICCI" test -k "$E" "holds$E.ric"
probe "test of what is missing" "$RICCI" test "missing$E.ric"
probe "test of a folder" "$RICCI" test .
probe "doctest" "$RICCI" doctest "text$E.md"
probe "doctest -v" "$RICCI" doctest -v "text$E.md"
probe "doctest of what is missing" "$RICCI" doctest "missing$E.md"
probe "doctest of bytes" "$RICCI" doctest "nul$E.md"
probe "doc" "$RICCI" doc "$E"
probe "--explain" "$RICCI" --explain "$E"
if [ "$(id -u)" != 0 ]; then
    mkdir "closed$E" && chmod 0 "closed$E"
    probe "a folder that cannot be read" "$RICCI" test "closed$E"
    chmod 700 "closed$E"
fi

# ---- files ----
for kind in csv mtx npy npz safetensors; do
    printf '"x' >"$E.$kind"
    program "load(\"E.$kind\")"
    program "load(\"q/E.$kind\")"
    program "save(\"q/E.$kind\", [1, 2; 3, 4])"
    program "save(\"folderE/x/E.$kind\", [1, 2; 3, 4])"
done
printf 'x,%s\n1,2\n3,4\n' "$E" >names.csv
printf 'x,y\n1,%s\n' "$E" >cells.csv
printf '%%%%MatrixMarket matrix %s real general\n1 1\n2\n' "$E" >word.mtx
printf "\x93NUMPY\x01\x00\x46\x00{'descr': '%s', 'fortran_order': False, 'shape': (1,), }%60s\n" "$E" "" >dtype.npy
printf '\x40\0\0\0\0\0\0\0{"%s": {"dtype": "F99", "shape": [1], "data_offsets": [0, 8]}}%60s' "$E" "" >field.safetensors
program 'print(load("names.csv", columns=true))'
program 'load("names.csv", columns=true).zz'
program 't = load("names.csv", columns=true); save("n.npz", t); print(load("n.npz")); load("n.npz").zz'
program 't = load("names.csv", columns=true); save("n.safetensors", t); print(load("n.safetensors"))'
program 'load("cells.csv")'
program 'load("word.mtx")'
program 'load("dtype.npy")'
program 'load("field.safetensors")'
program 'load("E")'
program 'load("E.zip")'
program 'save("folderE", 1)'
program 'read("q/E")'
program 'read("folderE")'
program 'write("q/E", "x")'
program 'write("folderE", "x")'
program 'plot([1, 2], to="q/E.png")'
program 'profile(to="q/E.json") { ones((3, 3)) @ ones((3, 3)) }'

# ---- modules and libraries ----
program "import \"syntaxE.ric\""
program "import \"nameE.ric\""
program "import \"missingE.ric\""
program 'extern "E.so" { int f(void); }'
program 'extern "./E.csv" { int f(void); }'
program 'extern "./missingE.so" { int f(void); }'
cat >"all$E.ric" <<'RICCI'
fn f(x) { g(x) }
fn g(x) { x @ [1.0, 2, 3] }
warn("n")
profile { ones((3, 3)) @ ones((3, 3)) }
explain ones((3, 3)) @ ones((3, 3))
timeit { ones((3, 3)) @ ones((3, 3)) }
on sim.mps { x = solve(ones((2, 2)) + [1.0, 0; 0, 1], ones(2)) }
try { f(ones(2)) } catch e { print(e); print(e.trace) }
compare { sin(1.0) }
f(ones(2))
RICCI
probe "places in reports" "$RICCI" "all$E.ric"
program 'import "allE.ric"'

# ---- texts of others ----
program 'throw "E"'
program 'assert "E" == "b"'
program 'assert false, "E"'
program 'warn("E")'
program 'help("E")'
program 'device("E")'
program 'float("E")'
program 'print(["E"], (x="E"))'

# ---- the prompt ----
printf '%s\n' ":load q$E" ":cd q$E" ":save /nonexistent$E/x" ":zz$E" "?$E" "??$E c" ":vars $E" ":help $E" ":explain $E" ":cd folder$E" ":pwd" \
    "t = load(\"../names.csv\", columns=true)" "t" ":vars" "t.zz" >typed
probe "the prompt" bash -c "\"$RICCI\" -i <typed"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
