/^  (routine|sums|memory|FLOPs|indices|first|step) /d
/^            gemm/d
