local abs = math.abs
local function work(n)
    local A, b, r = {}, {}, 1
    for i = 1, n do
        A[i] = {}
        for j = 1, n do
            r = r * 16807 % 2147483647
            A[i][j] = r / 2147483647 - 0.5
        end
        b[i] = (i - 1) % 7 - 3.0
    end
    for k = 1, n do
        local p = k
        for i = k + 1, n do
            if abs(A[i][k]) > abs(A[p][k]) then p = i end
        end
        if p ~= k then      -- elements, not rows, as the others
            for j = k, n do A[k][j], A[p][j] = A[p][j], A[k][j] end
            b[k], b[p] = b[p], b[k]
        end
        local Ak = A[k]
        for i = k + 1, n do
            local Ai = A[i]
            local m = Ai[k] / Ak[k]
            for j = k, n do Ai[j] = Ai[j] - m * Ak[j] end
            b[i] = b[i] - m * b[k]
        end
    end
    local total = 0.0
    for i = n, 1, -1 do
        local s, Ai = b[i], A[i]
        for j = i + 1, n do s = s - Ai[j] * b[j] end
        b[i] = s / Ai[i]
        total = total + abs(b[i])
    end
    return math.floor(total * 1e6)
end
print(work(450))
