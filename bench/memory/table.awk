# Rows of memory.ric beside what memory gives for as many streams read and written (reference.c), at the size that is
# nearest. Share: the reference's time over Ricci's, 1 where memory alone bounds it. GB/s count the bytes that a row must move.
function low(a, k, v) { if (!(k in a) || v < a[k]) a[k] = v }
FILENAME ~ /reference/ { low(given, $1 " " $2 " " $3, $4); if (!(($3) in sizes)) { sizes[$3]; size[++n] = $3 } next }
{ if (!($1 in time)) order[++rows] = $1; low(time, $1, $2); reads[$1] = $3; writes[$1] = $4; bytes[$1] = $5 }
END {
    printf "%-26s %11s %11s %8s %8s   (least of all rounds)\n", "memory", "ricci", "reference", "GB/s", "share"
    for (i = 1; i <= rows; i++) {
        k = order[i]; best = 0
        for (s = 1; s <= n; s++)
            if (!best || (size[s] > bytes[k] ? size[s] / bytes[k] : bytes[k] / size[s]) < far) {
                best = size[s]; far = best > bytes[k] ? best / bytes[k] : bytes[k] / best
            }
        limit = given[reads[k] " " writes[k] " " best] * bytes[k] / best
        printf "%-26s %9.3fms %9.3fms %8.1f %8.2f\n", k, time[k] * 1e3, limit * 1e3, (reads[k] + writes[k]) * bytes[k] / time[k] / 1e9, limit / time[k]
    }
}
