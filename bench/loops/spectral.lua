local function entry(i, j) return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1) end
local function times(v, n)
    local out = {}
    for i = 0, n - 1 do
        local s = 0.0
        for j = 0, n - 1 do s = s + entry(i, j) * v[j] end
        out[i] = s
    end
    return out
end
local function times_transposed(v, n)
    local out = {}
    for i = 0, n - 1 do
        local s = 0.0
        for j = 0, n - 1 do s = s + entry(j, i) * v[j] end
        out[i] = s
    end
    return out
end
local function work(n)
    local u = {}
    for i = 0, n - 1 do u[i] = 1.0 end
    local v = u
    for step = 1, 10 do
        v = times_transposed(times(u, n), n)
        u = times_transposed(times(v, n), n)
    end
    local uv, vv = 0.0, 0.0
    for i = 0, n - 1 do
        uv = uv + u[i] * v[i]
        vv = vv + v[i] * v[i]
    end
    return math.floor(math.sqrt(uv / vv) * 1e12)
end
print(work(600))
