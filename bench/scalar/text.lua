local s, u = {}, {}        -- strings are immutable: a table is how Lua grows one
for i = 0, 29999 do
    s[#s + 1] = i .. ","
    u[#u + 1] = i .. ";"
end
print(#table.concat(s), #table.concat(u))
