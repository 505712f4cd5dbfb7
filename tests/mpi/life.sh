#!/bin/bash
# Groups of ranks as a program meets them: they start and end, ranks and sessions die, launchers fail,
# and nothing is left of any of it: life.sh [brief]. RICCI is the program (build/ricci). Times are bounds
# of what hangs, ten times and more of what is usual.
set -u
cd "$(dirname "$0")/../.."
part=${1:-all}
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-mpi.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAIL $1"; [ -n "${2:-}" ] && head -20 "$2" | sed 's/^/    /'; }
export LC_ALL=C.UTF-8
unset RICCI_PROGRAM RICCI_MPI_FAULT RICCI_MPI_TIMEOUT RICCI_MPIRUN

# Runs a program: its output and errors lie in $work/out, its status in $status.
run() {             # ARGUMENT…
    timeout -k 5 60 "$RICCI" "$@" </dev/null >"$work/out" 2>&1
    status=$?
}
says() { grep -qF -- "$1" "$work/out"; }
# Ended with this status, having said all of these?
judge() {           # NAME STATUS WORDS…
    local name=$1 want=$2 words
    shift 2
    for words; do says "$words" || { fail "$name: nothing of: $words" "$work/out"; return; }; done
    if [ "$status" = "$want" ]; then pass; else fail "$name: status $status and not $want" "$work/out"; fi
}
# The ranks and launchers of the session with this number.
ranks_of() { pgrep -f -- "--mpi-r.* unix:ricci-$1-" || true; }
none_left() {       # NAME NUMBER
    local i
    for ((i = 0; i < 100; i++)); do [ -z "$(ranks_of "$2")" ] && { pass; return; }; sleep 0.1; done
    fail "$1: processes are left: $(ranks_of "$2" | tr '\n' ' ')"
}

run -e 'on mpi(1, 1) { print(sum(ones(3))) }'
if [ "$status" != 0 ]; then
    echo "not run: tests/mpi/life.sh: $(grep -m1 '^error' "$work/out" | cut -c1-200)"
    echo "0 passed, 0 failed"
    exit 0
fi
judge "one rank" 0 3

cat >"$work/four.ric" <<'EOF'
on mpi(2, 2) quiet {
    A = randn(100, 100) + 100 * eye(100)
    b = ones(100)
    print("small:", norm(A @ (A \ b) - b) < 1e-10)
}
release(mpi(2, 2))
on mpi(2, 2) quiet { print("again:", sum(ones(10, 10))) }
EOF
run "$work/four.ric"
judge "four ranks" 0 "small: true" "again: 100"

# ---- ranks that fail ----
cat >"$work/lost.ric" <<'EOF'
home = arange(4)
try {
    on mpi(1, 2) quiet { x = ones(100, 100); y = ones(9); for i in 1:50 { x = x + 1.0 }; print(sum(x)) }
} catch e { print(e.kind, e.message) }
print("home:", sum(home))
EOF
export RICCI_MPI_FAULT=1:10:die
run "$work/lost.ric"
judge "a rank that dies" 0 "device mpi(1, 2) lost rank 1 on $(uname -n) (signal 9): y and x are lost" "home: 6"
[ "$part" = brief ] || RICCI_MPI_FAULT=1:10:hang RICCI_MPI_TIMEOUT=1 run "$work/lost.ric"
[ "$part" = brief ] || judge "a rank that hangs" 0 "device mpi(1, 2) lost rank 1 on $(uname -n) (no answer for 1 s, RICCI_MPI_TIMEOUT)" "home: 6"
cat >"$work/local.ric" <<'EOF'
fn inner(A) { B = A + 1; C = (B * 2, 3); for i in 1:50 { B = B + 1.0 }; return sum(B) }
fn outer() { on mpi(1, 2) quiet { x = ones(100, 100); return inner(x) } }
try { outer() } catch e { print(e.kind, e.message) }
fn later() {
    on mpi(1, 2) quiet { w = ones(50, 50); try { for i in 1:50 { q = w + 1.0 } } catch e { print(e.message) } }
    return sum(w)
}
try { later() } catch e { print(e.kind, e.message) }
EOF
run "$work/local.ric"
judge "variables of functions" 0 "(signal 9): A, C and B are lost" "(signal 9): q and w are lost" "device w is lost: its elements were on mpi(1, 2) alone"
cat >"$work/home.ric" <<'EOF'
H = ones(100, 100)
try { on mpi(1, 2) quiet { x = H + 1; for i in 1:50 { x = x + 1.0 } } } catch e { print(e.kind, e.message) }
on mpi(1, 2) quiet { print("sent again:", sum(H + 1)) }
on mpi(1, 2) quiet { B = H * 2; release(mpi(1, 2)); print("released:", sum(B + 1)) }
EOF
run "$work/home.ric"
judge "what is at home too goes to the next group" 0 "(signal 9): x is lost" "sent again: 20000" "released: 30000"
RICCI_MPI_FAULT=1:10:memory run "$work/lost.ric"
judge "a rank that has no memory" 0 "memory mpi(1, 2): rank 1 on $(uname -n)" "home: 6"
unset RICCI_MPI_FAULT

cat >"$work/memory.ric" <<'EOF'
on mpi(1, 2) quiet {
    x = ones(10, 10)
    try { y = zeros(100000, 100000); print("too much") } catch e { print(e.kind, e.message) }
    print("still:", sum(x))
}
EOF
run "$work/memory.ric"
judge "a rank without memory" 0 "memory mpi(1, 2): rank " " on $(uname -n)" "still: 100"
printf '#!/bin/bash\nulimit -v 3000000\nexec mpirun "$@"\n' >"$work/tight"
chmod +x "$work/tight"
sed -i 's/100000, 100000/20000, 40000/' "$work/memory.ric"
# Where the sanitizers want more addresses than that, there is no such limit.
if (ulimit -v 3000000; "$RICCI" -e '1' >/dev/null 2>&1); then
    RICCI_MPIRUN=$work/tight run "$work/memory.ric"
    judge "a rank with ulimit -v" 0 "memory mpi(1, 2): rank " " on $(uname -n)" "still: 100"
fi

# ---- files that ranks do not see ----
mkdir "$work/shared"
cat >"$work/apart" <<EOF
#!/bin/bash
exec unshare -m bash -c 'mount -t tmpfs none "$work/shared" && exec "$RICCI" "\$@"' rank "\$@"
EOF
chmod +x "$work/apart"
cat >"$work/unseen.ric" <<EOF
on mpi(1, 2) { for i in 0:2 { A = ones(20, 20) * 2; save("$work/shared/A.npy", A); B = load("$work/shared/A.npy") } }
print("read:", sum(B), device(B))
EOF
# Only where this user may have folders of its own there.
if unshare -m mount -t tmpfs none "$work/shared" 2>/dev/null; then
    RICCI_PROGRAM=$work/apart run "$work/unseen.ric"
    judge "a folder that is not shared" 0 "read: 800.0 cpu" "see $work/shared/A.npy: the session writes it" "the session reads it"
    cat >"$work/full.ric" <<EOF
on mpi(1, 2) quiet { A = ones(20, 20); save("$work/shared/A.npy", A); B = randn(300, 300); save("$work/shared/B.npy", B) }
EOF
    unshare -m bash -c "mount -t tmpfs -o size=200k none '$work/shared' && '$RICCI' '$work/full.ric'; s=\$?; ls '$work/shared'; exit \$s" >"$work/out" 2>&1
    status=$?
    judge "a full disk" 1 "error[io]" "cannot write $work/shared/B.npy: No space left on device" "A.npy"
    says .part && fail "a full disk: half a file is left" "$work/out"
fi
run "$work/unseen.ric"
judge "a folder that is shared" 0 "read: 800.0 mpi(1, 2)"

cat >"$work/replace.ric" <<EOF
on mpi(1, 2) quiet { A = ones(50, 50); save("$work/shared/K.npy", A); B = A + 1; try { save("$work/shared/K.npy", B) } catch e { print(e.kind, e.message) } }
print("old:", sum(load("$work/shared/K.npy")))
EOF
RICCI_MPI_FAULT=1:7:die run "$work/replace.ric"
ls "$work/shared" >>"$work/out"
judge "a rank that dies while a file is replaced" 0 "lost rank 1" "old: 2500"
says .part && fail "a rank that dies while a file is replaced: half a file is left" "$work/out"

# ---- what ranks sent each other ----
cat >"$work/profile.ric" <<'EOF'
on mpi(2, 2, block=4) quiet { A = ones(60, 60) }
profile { on mpi(2, 2, block=4) quiet { B = A' + A; s = sum(B) } }
EOF
run "$work/profile.ric"
judge "a profile of a grid" 0 " between"
grep -Eq '^add .* 14\.3 kB$' "$work/out" && grep -Eq '^sum .* 0 B$' "$work/out" && pass || fail "bytes between ranks, by operation" "$work/out"
run -e 'profile { x = ones(60, 60) + 1; s = sum(x) }'
says between && fail "no grid, and a column for it" "$work/out" || pass

# ---- launchers ----
RICCI_MPIRUN="mpirun --no-such-option" run -e 'on mpi(1, 1) { x = ones(3) }'
judge "a launcher that refuses" 1 "error[device]" "mpi(1, 1) could not be started" "no-such-option"
RICCI_MPIRUN=false run -e 'on mpi(1, 1) { x = ones(3) }'
judge "a launcher that fails" 1 "error[device]" "without a word"
RICCI_MPIRUN=false run -e 'on mpi(1, 1) fallback cpu { print(sum(ones(3))) }'
judge "a launcher that fails, on the cpu" 0 3 "without a word" "the block runs on cpu"
RICCI_MPIRUN=false run -e 'fn pick() { print("asked"); return cpu }
on mpi(1, 1) fallback (pick()) { }'
[ "$(grep -c asked "$work/out")" = 1 ] && pass || fail "the fallback is asked for once" "$work/out"
mkdir "$work/empty"
with_empty_path() { env PATH="$work/empty" "$(command -v timeout)" -k 5 60 "$RICCI" "$@" </dev/null >"$work/out" 2>&1; status=$?; }
with_empty_path -e 'on mpi(1, 1) { x = ones(3) }'
judge "without MPI" 1 "error[device]" "openmpi-bin" "libscalapack-openmpi"
with_empty_path -e 'on mpi(1, 1) fallback cpu { print(sum(ones(3))) }'
judge "without MPI, on the cpu" 0 3
sed 's/0\.1\.0/0.1.9/g' "$RICCI" >"$work/ricci" && chmod +x "$work/ricci"
RICCI_PROGRAM=$work/ricci run -e 'on mpi(1, 1) { x = ones(3) }'
judge "another version" 1 "error[device]" "is Ricci 0.1.9 and the session is Ricci 0.1.0"

# ---- what a program of strangers may not ----
run --safe -e 'on mpi(1, 1) { x = ones(3) }'
judge "--safe" 1 "error[" "--safe"

ended() { echo "$passed passed, $failed failed"; [ $failed = 0 ]; exit; }
[ "$part" = brief ] && ended

# ---- by TCP: as on other hosts, where this machine's socket is not to be found ----
cat >"$work/far" <<'EOF'
#!/bin/bash
exec mpirun "${@/#unix:*([^,]),/}"
EOF
sed -i '1a shopt -s extglob' "$work/far"
chmod +x "$work/far"
RICCI_MPIRUN=$work/far run "$work/four.ric"
judge "by TCP" 0 "small: true" "again: 100"

# ---- the end of the session ----
cat >"$work/long.ric" <<EOF
on mpi(1, 2) quiet { A = randn(4000, 4000); n = sum(A); save("$work/now.npy", ones(1)); s = svd(A); print("done") }
EOF
begun() {           # the session $session has its ranks, and they compute
    local i
    for ((i = 0; i < 300; i++)); do [ -s "$work/now.npy" ] && { rm "$work/now.npy"; sleep 0.5; return; }; sleep 0.1; done
    fail "no ranks came"
}
"$RICCI" "$work/long.ric" </dev/null >"$work/out" 2>&1 & session=$!
begun
kill -9 "$session"
wait "$session" 2>/dev/null
none_left "a session that is killed" "$session"

"$RICCI" "$work/long.ric" </dev/null >"$work/out" 2>&1 & session=$!
begun
start=$SECONDS
kill -INT "$session"
wait "$session"
status=$?
[ $((SECONDS - start)) -lt 30 ] && judge "Ctrl-C" 130 "interrupt" "was ended by Ctrl-C in the middle of a computation: A is lost" || fail "Ctrl-C took $((SECONDS - start)) s"
none_left "a session that was interrupted" "$session"

"$RICCI" "$work/long.ric" </dev/null >"$work/out" 2>&1 & session=$!
begun
kill -9 "$(pgrep -f -- "--mpi-rank unix:ricci-$session-" | tail -1)"
wait "$session"
status=$?
judge "kill -9 in a computation" 1 "error[device]" "lost rank 1 on $(uname -n) (signal 9)"
none_left "a session that lost a rank" "$session"

# ---- many, one after the other ----
cat >"$work/many.ric" <<'EOF'
for i in 1:GROUPS { on mpi(1, 1) quiet { x = ones(3) }; release(mpi(1, 1)) }
print("all of them")
EOF
sed -i "s/GROUPS/${GROUPS_OF:-5}/" "$work/many.ric"
mkdir "$work/tmp"
TMPDIR=$work/tmp run "$work/many.ric"
judge "many groups" 0 "all of them"
if [ -z "$(find "$work/tmp" -type f)" ]; then pass; else fail "files are left: $(find "$work/tmp" -type f | head -3 | tr '\n' ' ')"; fi
ended
