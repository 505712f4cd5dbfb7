% The cases of expressions.ric in Octave: prints `name octave seconds`, medians of three calls.
1;
function report(name, f)
  f();
  times = zeros(1, 3);
  for k = 1:3
    start = tic; f(); times(k) = toc(start);
  end
  printf("%s octave %.9f\n", name, median(times)); fflush(stdout);
end
function d = distances(X, Y)
  d = 0;
  for k = 1:3
    d = d + (X(:, k) - Y(:, k)') .^ 2;
  end
  d = sqrt(d);
end
function s = min_plus(W)
  s = W(:, 1) + W(1, :);
  for k = 2:columns(W)
    s = min(s, W(:, k) + W(k, :));
  end
end
function s = softmax_rows(M)
  s = exp(M - max(M, [], 2));
  s = s ./ sum(s, 2);
end
X = rand(2000, 3); Y = rand(2000, 3);
report("distances_2000", @() distances(X, Y));
image = rand(1024); taps = rand(7);
report("convolution_7x7", @() conv2(image, taps, "valid"));
W = rand(400);
report("min_plus_400", @() min_plus(W));
small = rand(1e6, 1); token = randi(1e6, 1e7, 1);
report("gather_1e7", @() small(token));
table = rand(64, 50000); word = randi(50000, 1e5, 1);
report("gather_rows", @() table(:, word));
M = rand(4096); P = randi(4096, 4096, 1); Q = randi(4096, 4096, 1);
report("gather_2d_4096", @() M(P, Q));
report("softmax_4096", @() softmax_rows(M));
clear small token table word
a = rand(1e7, 1); b = rand(1e7, 1); c = rand(1e7, 1);
report("chain_1e7", @() sqrt(a.*a + b.*b) .* exp(-c));
report("copy_4096", @() M + 0);
report("transpose_4096", @() M');
cube = rand(256, 256, 256);
report("permute_cba_256", @() permute(cube, [3 2 1]));
report("permute_acb_256", @() permute(cube, [1 3 2]));
report("permute_bac_256", @() permute(cube, [2 1 3]));
