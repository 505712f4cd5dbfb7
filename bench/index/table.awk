# Tables from lines `name way seconds`: the lowest time of each way counts. tccg=1: the contractions,
# with geometric means; otherwise one row per case with the C reference and the best of the peers.
function unit(t) { return t < 1e-5 ? sprintf("%9.0f ns", t * 1e9) : t < 1e-3 ? sprintf("%9.1f us", t * 1e6) : sprintf("%9.2f ms", t * 1e3) }
function has(name, way) { return (name, way) in low }
function mean(sum, n) { return n ? sprintf("%.2f", exp(sum / n)) : "-" }
NF == 3 && $3 + 0 > 0 {
    if (!($1 in seen)) { seen[$1] = 1; order[++cases] = $1 }
    if (!(($1, $2) in low) || $3 < low[$1, $2]) low[$1, $2] = $3
    if ($2 !~ /^(ricci|c|gemm|limit)/) peer[$2] = 1
}
END {
    if (tccg) contractions(); else expressions()
}
function best_peer(name,    p, found) {
    found = ""
    for (p in peer) if (has(name, p) && (found == "" || low[name, p] < low[name, found])) found = p
    return found
}
function expressions(    k, name, p, r, c) {
    printf "%-18s %12s %12s %6s %12s %-9s %6s\n", "", "ricci", "C", "/C", "best peer", "", "/peer"
    for (k = 1; k <= cases; k++) {
        name = order[k]
        if (!has(name, "ricci")) { printf "%-18s %12s\n", name, "-"; continue }
        r = low[name, "ricci"]
        p = best_peer(name)
        c = has(name, "c") ? "c" : has(name, "limit") ? "limit" : ""
        printf "%-18s %12s %12s %6s %12s %-9s %6s\n", name, unit(r), c ? unit(low[name, c]) : "-", c ? sprintf("%.2f", r / low[name, c]) : "-",
               p ? unit(low[name, p]) : "-", p, p ? sprintf("%.2f", low[name, p] / r) : "-"
        if (has(name, "ricci-call")) printf "%-18s %12s   softmax(M, axis=1)\n", "", unit(low[name, "ricci-call"])
        if (has(name, "ricci-index")) printf "%-18s %12s   in index notation\n", "", unit(low[name, "ricci-index"])
        if (has(name, "numpy") && has(name, "optimize")) printf "%-18s %12s   optimize=True takes %.2f of Ricci's time\n", "", "", low[name, "optimize"] / r
    }
}
function contractions(    k, name, r, g, p, worst, at) {
    printf "%-20s %12s %12s %8s %8s %9s %7s %6s\n", "", "ricci", "gemm", "of gemm", "numpy", "optimize", "torch", "/peer"
    worst = 1e9
    for (k = 1; k <= cases; k++) {
        name = order[k]
        if (!has(name, "ricci")) { printf "%-20s %12s\n", name, "-"; missing++; continue }
        r = low[name, "ricci"]
        g = has(name, "gemm") ? low[name, "gemm"] / r : 0
        if (g) { gemm += log(g); gn++ }
        if (has(name, "numpy")) { plain += log(low[name, "numpy"] / r); pn++ }
        if (has(name, "optimize")) { opt += log(low[name, "optimize"] / r); on++ }
        if (has(name, "torch")) { tor += log(low[name, "torch"] / r); tn++ }
        p = best_peer(name)
        if (p && low[name, p] / r < worst) { worst = low[name, p] / r; at = name }
        printf "%-20s %12s %12s %7.0f%% %8s %9s %7s %6s\n", name, unit(r), g ? unit(low[name, "gemm"]) : "-", 100 * g, over(name, "numpy", r),
               over(name, "optimize", r), over(name, "torch", r), p ? sprintf("%.2f", low[name, p] / r) : "-"
    }
    printf "geometric means: %s of gemm, %s x numpy, %s x optimize=True, %s x torch; least over the best peer %.2f (%s)\n",
           mean(gemm, gn), mean(plain, pn), mean(opt, on), mean(tor, tn), worst, at
    if (missing) print missing " of " cases " have no time of Ricci"
}
function over(name, way, r) { return has(name, way) ? sprintf("%.2f", low[name, way] / r) : "-" }
