# Without times and what ran, and accuracies, whose last digits are those of training.
/^  (routine|sums|time) /d
s/^(minmax|percentile|mse|entropy|\(f32\)) .*/\1/
