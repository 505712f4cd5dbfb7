local function adder(n) return function(x) return x + n end end
local add = adder(3)
local total = 0
for i = 0, 1000000 - 1 do total = add(total) end
print(total)
