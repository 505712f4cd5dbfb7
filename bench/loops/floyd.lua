local function work(n)
    local D, r = {}, 1
    for i = 1, n do
        D[i] = {}
        for j = 1, n do
            r = r * 16807 % 2147483647
            D[i][j] = r % 1000 + 1
        end
        D[i][i] = 0
    end
    for k = 1, n do
        local Dk = D[k]
        for i = 1, n do
            local Di = D[i]
            for j = 1, n do
                local way = Di[k] + Dk[j]
                if way < Di[j] then Di[j] = way end
            end
        end
    end
    local total = 0
    for i = 1, n do
        for j = 1, n do total = total + D[i][j] end
    end
    return total
end
print(work(300))
