local function inside(n, steps)
    local count = 0
    for py = 0, n - 1 do
        local y0 = py / n * 2.0 - 1.0
        for px = 0, n - 1 do
            local x0 = px / n * 3.0 - 2.0
            local x, y, k = 0.0, 0.0, 0
            while k < steps and x * x + y * y <= 4.0 do
                local t = x * x - y * y + x0
                y = 2.0 * x * y + y0
                x = t
                k = k + 1
            end
            if k == steps then count = count + 1 end
        end
    end
    return count
end
print(inside(200, 100))
