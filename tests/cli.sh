#!/bin/bash
# The command line and hostile input: exit statuses, what is on which stream, and that
# nothing crashes, hangs or loses a variable. RICCI names the binary.
set -u
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-cli.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
limit=${LIMIT:-20}

# expect NAME STATUS STDOUT-PATTERN STDERR-PATTERN COMMAND…   (grep -E; "" matches anything, - means empty)
expect() {
    local name=$1 status=$2 out=$3 err=$4 got why=
    shift 4
    timeout -s KILL "$limit" "$@" >out 2>err </dev/null
    got=$?
    judge "$name" "$status" "$out" "$err" "$got"
}
# The same with standard input from a file.
expect_stdin() {
    local name=$1 status=$2 out=$3 err=$4 input=$5 got
    shift 5
    timeout -s KILL "$limit" "$@" >out 2>err <"$input"
    got=$?
    judge "$name" "$status" "$out" "$err" "$got"
}
judge() {
    local why=
    [ "$5" = "$2" ] || why="exit $5, $2 expected"
    if [ -z "$3" ]; then :; elif [ "$3" = - ]; then [ -s out ] && why="$why; stdout not empty"; elif ! grep -qaE -- "$3" out; then why="$why; stdout lacks /$3/"; fi
    if [ -z "$4" ]; then :; elif [ "$4" = - ]; then [ -s err ] && why="$why; stderr not empty"; elif ! grep -qaE -- "$4" err; then why="$why; stderr lacks /$4/"; fi
    if grep -qaE 'AddressSanitizer|LeakSanitizer|runtime error' err; then why="$why; sanitizer report"; fi
    if [ -z "$why" ]; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL $1: $why"; head -c 600 out; head -c 1200 err; fi
}

# ---- options and exit statuses ----
expect version 0 '^ricci [0-9]' - "$RICCI" --version
expect "version names the level" 0 '^ricci [0-9.]+ \((base|avx2|avx512)\)$' - "$RICCI" --version
expect "RICCI_ISA lowers it" 0 '\(base\)$' - env RICCI_ISA=base "$RICCI" --version
expect "empty RICCI_ISA" 0 '^2$' - env RICCI_ISA= "$RICCI" -p '1 + 1'
expect "RICCI_JIT without such a mode" 2 - "RICCI_JIT is 0, 1, now or quick, not 'off'" env RICCI_JIT=off "$RICCI" -p 1
expect "RICCI_JIT=0" 0 '^1$' - env RICCI_JIT=0 "$RICCI" -p 1
expect "RICCI_ISA without such a level" 2 - "RICCI_ISA names no instruction set: 'sse9'" env RICCI_ISA=sse9 "$RICCI" -p 1

# ---- by which names LAPACK is called: what is loaded says so ----
LOADED='print("liblapacke" in read("/proc/self/maps"))'
if /sbin/ldconfig -p 2>/dev/null | grep -q 'liblapacke\.so\.3'; then
    expect "LAPACKE" 0 '^true$' - "$RICCI" -e "x = inv([2.0, 1; 1, -3]); $LOADED"
else
    echo "not run: LAPACKE: there is no liblapacke.so.3"
fi
expect "RICCI_LAPACKE=0" 0 '^false$' - env RICCI_LAPACKE=0 "$RICCI" -e "x = inv([2.0, 1; 1, -3]); $LOADED"
expect "a product needs no LAPACKE" 0 '^false$' - "$RICCI" -e "x = rand(99, 99) @ rand(99, 99); $LOADED"

# ---- ricci --calibrate ----
mkdir -p calibrated
expect "--calibrate" 0 'kept in .*/calibrated/ricci/rates$' - env XDG_CACHE_HOME="$PWD/calibrated" "$RICCI" --calibrate
expect "--calibrate, and its unit" 0 'f64 product, own kernels, GFLOP/s +[0-9]' - env XDG_CACHE_HOME="$PWD/calibrated" "$RICCI" --calibrate
expect "a product with rates" 0 '^4096' - env -u RICCI_CALIBRATION XDG_CACHE_HOME="$PWD/calibrated" "$RICCI" -p 'sum(ones(64, 64) @ ones(64, 64)) / 64'
echo broken >calibrated/ricci/rates
expect "a product with broken rates" 0 '^4096' - env -u RICCI_CALIBRATION XDG_CACHE_HOME="$PWD/calibrated" "$RICCI" -p 'sum(ones(64, 64) @ ones(64, 64)) / 64'
expect "--calibrate where nothing can be kept" 1 'GFLOP' 'cannot keep what was measured' env XDG_CACHE_HOME=/proc "$RICCI" --calibrate
mkdir -p untouched
expect "a product makes no folder" 0 '^4096' - env -u RICCI_CALIBRATION XDG_CACHE_HOME="$PWD/untouched" sh -c '"$1" -p "sum(ones(64, 64) @ ones(64, 64)) / 64" && rmdir untouched' sh "$RICCI"
expect "--calibrate takes nothing more" 2 - 'ricci --calibrate' "$RICCI" --calibrate a.ric

# ---- help ----
expect help 0 'ricci FILE' - "$RICCI" --help
expect "devices are not strict" 0 '^cpu' 'eigh.* is not on sim.mps; ran on cpu' "$RICCI" -e 'A = f32([2, 1; 1, 2]); on sim.mps { w = eigh(A).values }; print(device(A))'
expect "--strict-devices" 1 - 'without --strict-devices they run on cpu' "$RICCI" --strict-devices -e 'on sim.mps { w = eigh(f32([2, 1; 1, 2])) }'
expect "--no-notices" 0 "^nan" - "$RICCI" --no-notices -e 'print(sqrt(-1.0)); warn("a"); on sim.mps { w = eigh(f32([2, 1; 1, 2])) }'
expect "--no-notices, but errors" 1 - 'no infinity' "$RICCI" --no-notices -e '1 // 0'
expect "--strict-devices -i" 2 - 'code is missing' "$RICCI" --strict-devices -e
expect "unknown option" 2 - 'unknown option|--nonsense' "$RICCI" --nonsense
expect "-e without code" 2 - '-e' "$RICCI" -e
expect "-e is silent" 0 - - "$RICCI" -e '1 + 1'
expect "-p prints" 0 '^2$' - "$RICCI" -p '1 + 1'
expect "print" 0 '^hello 1\.5$' - "$RICCI" -e 'print("hello", 1.5)'
expect "missing file" 1 - 'no_such_file' "$RICCI" no_such_file.ric
expect "a directory" 1 - 'directory' "$RICCI" .
expect "error in the program" 1 - 'error\[name\]' "$RICCI" -e 'undefined_thing + 1'
expect "exit status" 7 - - "$RICCI" -e 'exit(7)'
printf 'print(args())\n' >args.ric
expect "arguments" 0 '"a", "-x"' - "$RICCI" args.ric a -x
printf 'print(40 + 2)\n' >stdin.ric
expect_stdin "script on stdin" 0 '^42$' - stdin.ric "$RICCI" -
expect_stdin "script piped without options" 0 '^42$' - stdin.ric "$RICCI"
printf '#!/usr/bin/env ricci\nprint(1)\n' >shebang.ric
expect "shebang" 0 '^1$' - "$RICCI" shebang.ric
printf 'test "good" { assert 1 == 1 }\ntest "bad" { assert 1 == 2, "no" }\n' >two.ric
expect "ricci test" 1 '1 passed, 1 failed' '' "$RICCI" test two.ric
printf 'precision f16 {\n  test "inside" { assert dtype(0.1) == f16; x = 1.0 / 3; assert flags().inexact == 1 }\n}\nautocast f16 { test "cast" { assert dtype([0.1] @ [0.1]) == f16 } }\ntest "outside" { assert dtype(0.1) == f64 }\n' >scopes.ric
expect "tests inside of scopes" 0 '3 passed, 0 failed' '' "$RICCI" test scopes.ric
printf 'extern "libm.so.6" { double frexp(double x, int *exponent); }\ne = 7\ntest "foreign" { frexp(8.0, e) }\ntest "own" { e = e; frexp(8.0, e); assert e == 4 }\nassert e == 7\n' >written.ric
expect "a variable that C writes to in a test" 1 '1 passed, 1 failed' '^help: before it: e = e   makes it' "$RICCI" test written.ric
printf 'x = 1\ntest "one" { assert x == 1 }\n' >base.ric
printf 'import x from base\ntest "two" { assert x == 1 }\n' >user.ric
expect "a tested file that a later one imports" 0 '2 passed, 0 failed' '' "$RICCI" test base.ric user.ric
printf 'x = 1\nthrow "no"\n' >base.ric
expect "a failed file that a later one imports" 1 '0 passed, 2 failed' 'error.throw.: no' "$RICCI" test base.ric user.ric
printf 'x=1+2 # sum\n' >fmt.ric
expect "ricci fmt" 0 '^x = 1 \+ 2 +# sum$' - "$RICCI" fmt fmt.ric
printf 'precision   float( 5,3 )  accumulate f16  round   up{ y=1 }\n' >scope.ric
# C text stays as it is, byte for byte.
printf 'extern   "libm.so.6"as m{ double  cbrt( double ); // }\t\r\n#define  A  1\n /* { */ }\nx=m.A\n' >c.ric
printf 'extern "libm.so.6" as m { double  cbrt( double ); // }\t\r\n#define  A  1\n /* { */ }\nx = m.A\n' >c.want
"$RICCI" fmt c.ric >c.once
"$RICCI" fmt c.once >c.twice
expect "ricci fmt of extern" 0 - - cmp c.want c.once
expect "ricci fmt of extern, again" 0 - - cmp c.want c.twice
expect "another version of a library" 1 "" 'did you mean "libm.so.6"' "$RICCI" -e 'extern "libm.so.99" { double cbrt(double); }'
expect "a name of a library" 1 "" 'searched for libnope.so and libnope.so.N in /' "$RICCI" -e 'extern "-lnope" { int f(void); }'
expect "a file without its folder" 1 "" 'a file needs its folder: "./libc.so.ric"' sh -c "cp c.ric libc.so.ric; '$RICCI' -e 'extern \"libc.so.ric\" { int f(void); }'"
expect "ricci fmt of a scope" 0 '^precision float\(5, 3\) accumulate f16 round up \{ y = 1 \}$' - "$RICCI" fmt scope.ric
expect "ricci doc" 0 'singular value' - "$RICCI" doc svd
expect "ricci doc of nothing" 1 - 'no help on svdd' "$RICCI" doc svdd
if [ -w /dev/full ]; then
    timeout "$limit" "$RICCI" -e 'for k in 0:100000 { print(k) }' >/dev/full 2>err
    got=$?; : >out; judge "a full disk" 1 - 'No space|write' $got
fi

# ---- text that is no program ----
for text in '(' '[' '{' '"' '"{' '`' 'x = (1, [2, {' 'fn f(' 'if true {' 'extern "m" {' '"a {1 + "b' ')' ']' '}' 'x = = 1' '1 2' 'fn' \
            'a, = 1, 2 =' '[1 -2]' '1 +' ':=' 'x[' 'for in 3 {}' "'abc'" 'x = 1 && 2' 'f(x' '@' '\' '..' '= 3' 'try { 1 }' 'else { }'; do
    expect "syntax: $text" 1 - 'error\[syntax\]' "$RICCI" -e "$text"
done
head -c 100000 /dev/zero | tr '\0' '(' >deep.ric
expect "10^5 nested parentheses" 1 - 'error\[(syntax|memory)\]' "$RICCI" deep.ric
head -c 100000 /dev/zero | tr '\0' '[' >deep2.ric
expect "10^5 nested brackets" 1 - 'error\[(syntax|memory)\]' "$RICCI" deep2.ric
head -c 100000 /dev/zero | tr '\0' '-' >minus.ric; echo 1 >>minus.ric
expect "10^5 signs" 1 - 'error\[(syntax|memory)\]' "$RICCI" minus.ric
{ printf 'x = 1'; for ((k = 0; k < 20000; k++)); do printf ' + 1'; done; echo; echo 'print(x)'; } >sum.ric
expect "a sum of 20000 terms" 0 "^20001$" - "$RICCI" sum.ric
printf 'x = "\xff\xfe"\n' >utf8.ric
expect "invalid UTF-8" 1 - 'UTF-8' "$RICCI" utf8.ric
printf 'x = 1\0002\n' >nul.ric
expect "a NUL byte" 1 - 'error\[syntax\]' "$RICCI" nul.ric
printf 'x = 1\r\nprint(x)\r\n' >crlf.ric
expect "CRLF works" 0 '^1' - "$RICCI" crlf.ric
{ printf 'x = [1'; head -c 5000000 /dev/zero | sed 's/\x0/,1/g'; echo ']'; echo 'print(len(x))'; } >long.ric
expect "a 10 MB line" 0 '^5000001$' - "$RICCI" long.ric
head -c 200000 /dev/urandom >noise.ric
expect "noise" 1 - 'error\[syntax\]' "$RICCI" noise.ric
: >empty.ric
expect "an empty file" 0 - - "$RICCI" empty.ric

# ---- programs that ask too much ----
expect "infinite recursion" 1 - 'error\[memory\].*recursion' "$RICCI" -e 'fn f(n) { return f(n + 1) + 1 }; f(0)'
expect "infinite recursion through map" 1 - 'error\[memory\]' "$RICCI" -e 'fn f(n) { return map(f, [1])[0] + 1 }; f(0)'
expect "recursion is caught" 0 '^memory$' - "$RICCI" -e 'fn f(n) { return f(n + 1) + 1 }
try { f(0) } catch e { print(e.kind) }'
expect "zeros(10^12)" 1 - 'error\[memory\]' "$RICCI" -e 'zeros(10^12)'
expect "zeros of an overflowing size" 1 - 'error\[(memory|value)\]' "$RICCI" -e 'zeros(10^10, 10^10)'
expect "a negative size" 1 - 'error\[value\]' "$RICCI" -e 'zeros(-1)'
expect "a variable survives" 0 '^3 memory$' - "$RICCI" -e 'x = 3
try { x = zeros(10^12) } catch e { print(x, e.kind) }'
expect "int overflow" 1 - 'error\[value\]' "$RICCI" -e '9223372036854775807 + 1'
expect "a huge string" 1 - 'error\[(memory|value)\]' "$RICCI" -e '"ab" * 10^15'

# ---- malformed data ----
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n5 1 1.0\n' >outside.mtx
expect "mtx entry outside" 1 - 'io.*line 3' "$RICCI" -e 'load("outside.mtx")'
printf '%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 1 1.0\n' >large.mtx
expect "mtx too large" 1 - 'error\[memory\]' "$RICCI" -e 'load("large.mtx")'
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n' >short.mtx
expect "mtx too short" 1 - 'ends after 1 of 2' "$RICCI" -e 'load("short.mtx")'
printf 'hello\n' >not.mtx
expect "not an mtx" 1 - 'error\[io\]' "$RICCI" -e 'load("not.mtx")'
printf '1,2\n3\n' >ragged.csv
expect "ragged csv" 1 - 'line 2 has 1 field' "$RICCI" -e 'load("ragged.csv")'
printf '1,2\n3,x\n' >word.csv
expect "a word in a csv" 1 - 'line 2, field 2.*"x"' "$RICCI" -e 'load("word.csv")'
printf '' >empty.csv
expect "an empty csv" 1 - 'empty' "$RICCI" -e 'load("empty.csv")'
printf '\x93NUMPY\x01\x00\xff\xff{' >short.npy
expect "a short npy" 1 - 'error\[io\]' "$RICCI" -e 'load("short.npy")'
printf 'PK\x03\x04aaaaaaaaaaaa' >not.npy
expect "not an npy" 1 - 'NUMPY' "$RICCI" -e 'load("not.npy")'
python3 - <<'P' 2>/dev/null
h = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000), }"
h = h + b' ' * (118 - len(h) - 1) + b'\n'
open('huge.npy', 'wb').write(b'\x93NUMPY\x01\x00' + len(h).to_bytes(2, 'little') + h)
P
[ -f huge.npy ] && expect "an npy that lies about its size" 1 - 'error\[io\]' "$RICCI" -e 'load("huge.npy")'
expect "a missing file to load" 1 - 'cannot open nothing.npy' "$RICCI" -e 'load("nothing.npy")'
expect "a directory to load" 1 - 'directory' "$RICCI" -e 'mkdir = 1; load("../'"$(basename "$work")"'/.npy")' 2>/dev/null || true

# ---- traces ----
cat >trace.py <<'P'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
lanes = {}
for e in events:
    lanes.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["dur"]))
for lane in lanes.values():                     # in a lane one after the other
    assert all(t >= 0 and d >= 0 for t, d in lane) and all(a[0] + a[1] <= b[0] + 0.01 for a, b in zip(lane, lane[1:]))
print(len(events), sorted({e["cat"] for e in events}), sum(e["args"].get("bytes", 0) for e in events))
P
cat >trace.ric <<'P'
profile to "t.json" {
    on sim.mps quiet { for k in 0:20 { x = ones(50); y = x @ x; z = svd(reshape(x, (5, 10))).S[0] } }
}
P
if command -v python3 >/dev/null; then
    expect "a trace is written" 0 '' - "$RICCI" trace.ric
    expect "a trace is JSON" 0 "^[0-9]+ .'copy', 'operation'. [1-9]" - python3 trace.py t.json
    printf 'old' >t.json
    expect "a trace of what failed" 1 '^matmul' 'error' "$RICCI" -e 'profile to "t.json" { ones(3) @ ones(4) }'
    expect "its JSON" 0 "^1 " - python3 trace.py t.json
    expect "an empty trace" 0 '' - "$RICCI" -e 'profile to "t.json" { 1 }'
    expect "its JSON too" 0 "^0 " - python3 trace.py t.json
else
    echo "not run: traces as JSON (no python3)"
fi
expect "a trace on a full disk" 1 '' 'cannot write the trace' "$RICCI" -e 'profile to "/dev/full" { 1 }'

# ---- round trips ----
cat >round.ric <<'P'
for x in ([1, 2; 3, 4], f32([1.5, 2.5]), [true, false], [1+2i, 3i], zeros(0, 3), f16([0.1, 2]), u8([1, 255]), i32([-1, 7]), c64([1i])) {
    save("x.npy", x)
    y = load("x.npy")
    assert shape(x) == shape(y) and dtype(x) == dtype(y) and all(x == y), "npy {repr(x)}"
}
A = reshape(arange(12), (3, 4))
save("t.npy", A')
assert all(load("t.npy") == A')
for x in ([1, 2; 3, 4], [0.0, 0; 0, 0.1], [1+2i, 0; 0, 0]) {
    save("x.mtx", x)
    assert all(load("x.mtx") == x)
}
save("x.csv", [0.1, 2.5; 1e-300, 3])
assert all(load("x.csv") == [0.1, 2.5; 1e-300, 3])
print("round trips hold")
P
expect "round trips" 0 'round trips hold' - "$RICCI" round.ric
# interrupt NAME FILE SECONDS: SIGINT after that time must end it with status 130.
interrupt() {
    local pid watch
    "$RICCI" "$2" >out 2>err & pid=$!
    { sleep 10; kill -KILL $pid; } 2>/dev/null & watch=$!
    sleep "$3"; kill -INT $pid; wait $pid; got=$?
    kill $watch 2>/dev/null
    judge "$1" 130 '' 'interrupt' $got
}
# ---- growth that one step of refinement does not mend: how much, the library's rounding says ----
growth='n = 120; seed(1); W = eye(n) - tril(ones(n, n), -1); W[:, n-1] = 1.0; b = W @ rand(n)'
lost='notice: rounding errors that grew in the factorisation of W cost about 1[0-9] digits of the solution: .* of \|A\| \|x\| \+ \|b\| in a row; lstsq\(W, b\) solves by QR'
expect "growth is said" 0 '^true$' "$lost" "$RICCI" -e "$growth; y = W \\ b; print(dtype(y) == f64)"
expect "growth of one of three" 0 '^true$' 'notice: 1 of the 3 systems: rounding' "$RICCI" -e "$growth; A = stack((eye(n) + rand(n, n), W, rand(n, n)), axis=0); print(all(isfinite(A \\ b)))"
expect "explain trusts no digits that growth took" 0 'about [01] digits? to trust' 'notice' "$RICCI" -e "$growth; explain W \\ b"
expect "explain says what was refined" 0 'refined   once: its backward error was above 60 eps' - "$RICCI" -e 'n = 60; W = eye(n) - tril(ones(n, n), -1); W[:, n-1] = 1.0; seed(1); x = rand(n); b = W @ x; explain W \ b'

# ---- the kernels that explain names; a build or a machine may take its plain loops instead ----
names_kernel() {    # PATTERN PROGRAM: one of a kernel's names, or the plain nest of a hostile build
    expect "explain names $1" 0 "($1|loop nest: (f32 in, f64 sums: )?plain loops)" - "$RICCI" -e "A = reshape(arange(200.0), (20, 10)); B = reshape(arange(300.0), (10, 30)); x = arange(10.0)
explain $2"
}
names_kernel 'routine   [sdcz]gemm \((OpenBLAS|the reference LAPACK)\)' 'ones(100, 100) @ ones(100, 100)'
names_kernel 'routine   our own loop: too small for a call to pay' 'ones(2, 2) @ ones(2, 2)'
names_kernel 'gemm: own small products, \(20×10 by 10×30\)' 'C[i,k] := A[i,j] * B[j,k]'
names_kernel 'gemm: (OpenBLAS|the reference LAPACK), \(200×200 by 200×300, transposed\)' 'C[i,k] := ones(200, 200)[i,j] * ones(300, 200)[k,j]'
names_kernel 'gemv: own small products, \(20×10 by 10×1\)' 'c[i] := A[i,j] * x[j]'
names_kernel 'dot: [^,]+, \(1×300 by 300×1\)' 't := B[j,k] * B[j,k]'
names_kernel 'direct contraction: vectors along 999970, 31 taps' 'y[i] := zeros(10^6)[i+k] * zeros(31)[k]'
names_kernel 'direct contraction: vectors along 30, 10 taps|gemm: own blocked kernel, 1 × \(20×10 by 10×30\)' 'W[i,k] := min[j] (A[i,j] + B[j,k])'
# ---- devices whose libraries are missing, and ends with work under way ----
mkdir no_opencl no_clblast
: >no_opencl/libOpenCL.so.1
: >no_clblast/libclblast.so.1
nowhere=OCL_ICD_VENDORS=/nonexistent
expect "no OpenCL platform" 0 '^opencl +not available: no OpenCL platform found \(Debian:' - env $nowhere "$RICCI" -p 'devices()'
expect "no OpenCL library" 0 '^opencl +not available: libOpenCL\.so\.1 was not found \(Debian:' - \
    env LD_LIBRARY_PATH=no_opencl "$RICCI" -p 'devices()'
expect "a block without a platform" 1 - 'error\[device\]: opencl is not available: no OpenCL platform found' \
    env $nowhere "$RICCI" -e 'on opencl { 1 + 1 }'
expect "its fallback" 0 '^cpu$' '^notice: opencl is not available, the block runs on cpu: no OpenCL platform' \
    env $nowhere "$RICCI" -e 'on opencl fallback cpu { print(device([1, 2])) }'
expect "a number that no device has" 1 - 'error\[device\].*opencl:7' "$RICCI" -e 'on opencl:7 { 1 }'
if "$RICCI" -e 'on opencl { }' >out 2>err; then
    expect "no CLBlast" 0 'no libclblast\.so\.1 \(Debian: libclblast1\)' - env LD_LIBRARY_PATH=no_clblast "$RICCI" -p 'devices()'
    work='on opencl { A = ones(1000, 1000); for k in 0:9 { A = exp(-A) + 1 } }'
    expect "the end with work under way" 0 - - "$RICCI" -e "$work"
    expect "exit with work under way" 5 - - "$RICCI" -e 'on opencl { for k in 0:9 { exp(ones(1000, 1000)) + 1 }; exit(5) }'
    expect "an error with work under way" 1 - 'error\[name\]' "$RICCI" -e "$work; no_such_name"
    echo "$work" >work.ric
    expect_stdin "a session with work under way" 0 '' - work.ric "$RICCI"
    printf 'on opencl { A = ones(1000, 1000); while true { A = exp(-A) + 1 } }\n' >work.ric
    [ "${QUICK:-}" = 1 ] || interrupt "Ctrl-C with work under way" work.ric 1.5
else
    echo "not run: the command line on OpenCL: no platform"
fi
if [ "${QUICK:-}" != 1 ]; then
    # ---- Ctrl-C ----
    printf 'while true { }\n' >spin.ric
    interrupt "Ctrl-C in a loop" spin.ric 0.3
    printf 'while true { try { while true { } } catch e { } }\n' >caught.ric
    interrupt "Ctrl-C is not caught by try" caught.ric 0.3
    printf 'A = rand(3000, 3000)\nfor k in 0:100 { B = A @ A }\n' >long.ric
    start=$(date +%s%N)
    interrupt "Ctrl-C in a product" long.ric 1.5
    [ $(( ($(date +%s%N) - start) / 1000000 )) -lt 3000 ] && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAIL Ctrl-C in a product took too long"; }
    printf 'x = rand(10^6)\nx[i] := sum[j] exp(-abs(x[i] - x[j]))\n' >nest.ric
    interrupt "Ctrl-C in index notation" nest.ric 1
    printf 'H = [rational(1)/(i + j + 1) for i in 0:400, j in 0:400]\nprint(sum(inv(H)))\n' >exact.ric
    interrupt "Ctrl-C in an exact inverse" exact.ric 1.5
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
