s/^[0-9.]+ (ns|µs|ms|s): /T: /
s/, [0-9.]+ (ns|µs|ms|s) outside/, T outside/
s/ (<1|[0-9 ]?[0-9]|100)%/   %/
s/^(\(outside\)) .*/\1/
s/cpu [0-9.]+ [kM]?B \(\+[0-9.]+ [kM]?B\)/cpu M/
