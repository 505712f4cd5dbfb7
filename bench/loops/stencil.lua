local function work(sweeps)
    local n = 500
    local u, v = {}, {}
    for i = 1, n do
        u[i], v[i] = {}, {}
        for j = 1, n do u[i][j], v[i][j] = 0.0, 0.0 end
    end
    for i = 1, n do
        u[1][i], v[1][i] = 1.0, 1.0
        u[i][1], v[i][1] = (i - 1) * 0.25, (i - 1) * 0.25
    end
    for s = 1, sweeps do
        for i = 2, n - 1 do
            local above, here, below, out = u[i - 1], u[i], u[i + 1], v[i]
            for j = 2, n - 1 do
                out[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1])
            end
        end
        u, v = v, u
    end
    local total = 0.0
    for i = 1, n do
        for j = 1, n do total = total + u[i][j] end
    end
    return math.floor(total * 1e6)
end
print(work(60))
