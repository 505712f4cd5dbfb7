s/^[0-9.]+ (ns|µs|ms|s): /T: /
s/, [0-9.]+ (ns|µs|ms|s) outside/, T outside/
s/^\(outside\).*$/(outside)/
s/^(solve +cpu +f32 +1) .*$/\1/
s/cpu [0-9.]+ [kM]?B \(\+[0-9.]+ [kM]?B\)/cpu M/
s/ (sgemm|loop nest)$/ KERNEL/
