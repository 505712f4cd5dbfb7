% The Octave side of bench/linalg.c: reads `routine n batch seconds` from standard input and
% answers with the time of one call in seconds. Octave has no batched linear algebra: nan.
warning("off", "all");
key = 0;
while ischar(line = input("", "s"))
    word = strsplit(line, " ");
    n = str2double(word{2});
    seconds = str2double(word{4});
    if strcmp(word{1}, "version")
        printf("Octave %s\n", version()); fflush(stdout);
        continue;
    end
    if str2double(word{3}) > 0
        puts("nan\n"); fflush(stdout);
        continue;
    end
    if n != key
        A = 2 * rand(n) - 1; B = 2 * rand(n) - 1; b = 2 * rand(n, 1) - 1;
        S = A + A' + 2 * n * eye(n);
        key = n;
    end
    switch word{1}
        case "matmul"  run = @() A * B;
        case "solve"   run = @() A \ b;
        case "inv"     run = @() inv(A);
        case "det"     run = @() det(A);
        case "lu"      run = @() nthargout(1:3, @lu, A);
        case "ldl"     printf("nan\n"); fflush(stdout); continue;      % Octave has none
        case "chol"    run = @() chol(S, "lower");
        case "qr"      run = @() nthargout(1:2, @qr, A, 0);
        case "svd"     run = @() nthargout(1:3, @svd, A, "econ");
        case "eigh"    run = @() nthargout(1:2, @eig, S);
        case "eig"     run = @() nthargout(1:2, @eig, A);
    end
    calls = 0; start = tic;
    do
        run();
        calls++;
        spent = toc(start);
    until spent >= seconds
    printf("%.9g\n", spent / calls); fflush(stdout);
end
