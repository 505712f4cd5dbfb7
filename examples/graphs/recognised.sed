# What was printed, and of each report its first line and the rewritings.
/^([0-9]\.|largest|graph|recognised|folded|fused|  attention|error|--- exit)/!d
s/(attention tiled), .*/\1/
