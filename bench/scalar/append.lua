-- Lua's own idiom: a table and concat (s = s .. "x" is quadratic)
local parts = {}
for i = 1, 1000000 do parts[i] = "x" end
local s = table.concat(parts)
print(#s)
