/^  (routine|parts|memory|batch|step|numbers|sums) /d
/^            gemm/d
