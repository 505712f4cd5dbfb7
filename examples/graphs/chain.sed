# What was printed, and of each report what was multiplied and how much.
/^([0-9]\.|the same|graph|reordered|in all|  FLOPs|error|--- exit)/!d
