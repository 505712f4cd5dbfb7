s/(128×64 blocks), [0-9.]+ [kMG]?B$/\1, MEMORY/
