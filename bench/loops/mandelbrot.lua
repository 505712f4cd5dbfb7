local function steps(x0, y0, most)
    local x, y, k = 0.0, 0.0, 0
    while k < most and x * x + y * y <= 4.0 do
        local t = x * x - y * y + x0
        y = 2.0 * x * y + y0
        x = t
        k = k + 1
    end
    return k
end
local function work(most)
    local n, total = 400, 0
    for i = 0, n - 1 do
        for j = 0, n - 1 do total = total + steps(j / n * 3.0 - 2.0, i / n * 2.0 - 1.0, most) end
    end
    return total
end
print(work(400))
