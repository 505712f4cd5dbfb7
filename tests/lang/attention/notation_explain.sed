# How much memory a way takes is the machine's, and so are the kernels of the other steps.
s/(128×64 blocks), [0-9.]+ [kMG]?B$/\1, MEMORY/
/^  (step|indices|first|FLOPs|memory|numbers|sums)/d
/^ {12}/d
