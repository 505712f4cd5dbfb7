# Files exact.WHO.TURN: names and seconds, whose medians over the turns stand beside each other, and "= NAME agrees".
function median(key, n, v, i, j, t) {
    n = split(times[key], v, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return n == 0 ? 0 : n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
function cell(x, form, width) { return sprintf("%" width "s", x > 0 ? sprintf(form, x) : "") }
{ count = split(FILENAME, part, "[.]"); who = part[count - 1] }
$1 == "=" && who != "ricci" { $3 == "agrees" ? agree++ : differ = differ " " who ":" $2; next }
$1 == "=" { next }
!($1 in seen) { seen[$1]; order[++rows] = $1 }
{ times[$1 " " who] = times[$1 " " who] " " $2 }
END {
    peers = split("mpmath flint decimal", peer, " ")
    printf "%-18s %11s %11s %11s %11s %9s %9s %9s   (medians of turns)\n", "exact", "ricci", "mpmath", "flint", "decimal", "/mpmath", "/flint", "/decimal"
    for (i = 1; i <= rows; i++) {
        name = order[i]; r = median(name " ricci")
        printf "%-18s %s", name, cell(r * 1e3, "%.2fms", 11)
        for (p = 1; p <= peers; p++) printf " %s", cell(median(name " " peer[p]) * 1e3, "%.2fms", 11)
        for (p = 1; p <= peers; p++) printf " %s", cell(r > 0 ? median(name " " peer[p]) / r : 0, "%.2f", 9)
        print ""
    }
    printf "%d answers agree with the peers'%s\n", agree, differ ? ", but not" differ : ""
}
