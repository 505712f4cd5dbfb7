local function sieve(n)
    local prime = {}
    for i = 0, n - 1 do prime[i] = true end
    prime[0], prime[1] = false, false
    local i = 2
    while i * i < n do
        if prime[i] then
            for j = i * i, n - 1, i do prime[j] = false end
        end
        i = i + 1
    end
    local count = 0
    for k = 0, n - 1 do
        if prime[k] then count = count + 1 end
    end
    return count
end
print(sieve(1000000))
