s/[0-9.]+ (ns|µs|ms|s)\b/T/g
s/[0-9]+ samples of [0-9]+/N/
s/[0-9.e+-]+ G/R G/g
s/[0-9.]+ [kM]?B of memory/M of memory/
s/error [0-9.]+e-[0-9]+/error E/
