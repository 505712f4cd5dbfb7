#!/bin/bash
# A session and two hosts of two ranks each: the hosts are namespaces of this machine with names and
# addresses of their own, and a script takes the place of ssh. RICCI is the program (build/ricci).
set -u
cd "$(dirname "$0")/../.."
RICCI=${RICCI:-$PWD/build/ricci}
work=$(mktemp -d "${TMPDIR:-/tmp}/ricci-hosts.XXXXXX")
net=ricci$$ passed=0 failed=0
export LC_ALL=C.UTF-8 RICCI_PROGRAM=$RICCI
unset RICCI_MPI_FAULT RICCI_MPI_TIMEOUT RICCI_MPIRUN

none() { echo "not run: tests/mpi/hosts.sh: $1"; echo "0 passed, 0 failed"; exit 0; }
clean() { local k; for k in a b; do ip link del "$net$k"; ip netns del "$net$k"; done 2>/dev/null; ip link del "$net" 2>/dev/null; rm -rf "$work"; }
trap clean EXIT
command -v mpirun >/dev/null || none "there is no mpirun"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || none "the launcher is not Open MPI's"
timeout -k 5 60 "$RICCI" -e 'on mpi(1, 1) { print(sum(ones(3))) }' </dev/null >"$work/out" 2>&1 ||
    none "$(grep -m1 '^error' "$work/out" | cut -c1-200)"

# One network of two hosts and this machine, which is its bridge.
network() {
    local k i=1
    ip link add "$net" type bridge && ip addr add 10.213.77.1/24 dev "$net" && ip link set "$net" up || return
    for k in a b; do
        i=$((i + 1))
        ip netns add "$net$k" && ip link add "$net$k" type veth peer name eth0 netns "$net$k" &&
            ip link set "$net$k" master "$net" up && ip -n "$net$k" addr add "10.213.77.$i/24" dev eth0 &&
            ip -n "$net$k" link set eth0 up && ip -n "$net$k" link set lo up || return
    done
}
network >"$work/out" 2>&1 && unshare -u true 2>>"$work/out" || none "no namespaces: $(head -1 "$work/out")"

# In place of ssh: HOST COMMAND…, in the host's network and under its name.
cat >"$work/remote" <<EOF
#!/bin/bash
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
case \$host in 10.213.77.2) k=a ;; *) k=b ;; esac
exec ip netns exec "$net\$k" unshare -u bash -c 'hostname "host\$0"; eval "\$*"' "\$k" "\$@"
EOF
chmod +x "$work/remote"
printf '10.213.77.2 slots=2\n10.213.77.3 slots=2\n' >"$work/hosts"
export RICCI_MPIRUN="mpirun --hostfile $work/hosts --mca plm_rsh_agent $work/remote --mca oob_tcp_if_include 10.213.77.0/24 --mca btl_tcp_if_include 10.213.77.0/24"

run() { timeout -k 5 60 "$RICCI" "$work/$1" </dev/null >"$work/out" 2>&1; status=$?; }
judge() {           # NAME STATUS WORDS…
    local name=$1 want=$2 words
    shift 2
    for words; do
        grep -qF -- "$words" "$work/out" && continue
        failed=$((failed + 1)); echo "FAIL $name: nothing of: $words"; head -20 "$work/out"; return
    done
    if [ "$status" = "$want" ]; then passed=$((passed + 1)); else
        failed=$((failed + 1)); echo "FAIL $name: status $status"; head -20 "$work/out"; fi
}
cat >"$work/four.ric" <<'EOF'
on mpi(2, 2, block=8) quiet {
    A = randn(60, 60) + 60 * eye(60)
    b = ones(60)
    print("small:", norm(A @ (A \ b) - b) < 1e-10)
}
for r in mpi(2, 2, block=8).ranks { print(r[0], r[1]) }
EOF
run four.ric
judge "two hosts" 0 "small: true" "0 hosta" "1 hosta" "2 hostb" "3 hostb"

cat >"$work/lost.ric" <<'EOF'
home = arange(4)
try {
    on mpi(2, 2) quiet { x = ones(100, 100); for i in 1:50 { x = x + 1.0 }; print(sum(x)) }
} catch e { print(e.kind, e.message) }
print("home:", sum(home))
on mpi(2, 2) quiet { print("again:", sum(ones(10, 10))) }
EOF
RICCI_MPI_FAULT=3:10:die run lost.ric
judge "a rank of the other host" 0 "device mpi(2, 2) lost rank 3 on hostb (signal 9)" "home: 6" "again: 100"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
