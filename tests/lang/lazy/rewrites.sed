/^  (routine|attention|memory|FLOPs|parts|rcond|residual) /d
/^in all /d
/^[^:]*: [a-z ]+ of .* gives /d
