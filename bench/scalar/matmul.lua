local function product(A, B, n)
    local C = {}
    for i = 1, n do
        local row, Ai = {}, A[i]
        for j = 1, n do
            local s = 0.0
            for k = 1, n do s = s + A[i][k] * B[k][j] end
            row[j] = s
        end
        C[i] = row
    end
    return C
end
local n, A, B = 120, {}, {}
for i = 1, n do
    A[i], B[i] = {}, {}
    for j = 1, n do
        A[i][j] = (i - 1) + 2.0 * (j - 1)
        B[i][j] = (i - 1) - (j - 1) + 0.0
    end
end
local C = product(A, B, n)
print(C[4][6], C[120][120])
