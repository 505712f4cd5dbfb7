-- As kinds.ric: floats of an ffi array, three axes of one array by hand, ipairs for `for x in v`.
local ffi = require("ffi")
local n = tonumber(arg[1] or 1000000)
local m = 100 * math.floor(n / 1000)
local function measure(name, f, count)
  local best, r = math.huge
  for k = 1, 4 do
    local t = os.clock()
    r = f()
    best = math.min(best, os.clock() - t)
  end
  print(string.format("%-22s %8.2f   %s", name, best / count * 1e9, tostring(r)))
end
local x, y, w = ffi.new("float[?]", n), ffi.new("float[?]", n), {}
for i = 0, n - 1 do x[i] = 1 / (1 + i); y[i] = 0.001 * i; w[i + 1] = 1 / (1 + i) end
local one = ffi.new("float[1]")
local function round(v) one[0] = v; return one[0] end
measure("f32 axpy", function() for i = 0, n - 1 do y[i] = y[i] + round(0.5 * x[i]) end return y[n - 1] end, n)
measure("f32 dot, rounded", function() local s = 0 for i = 0, n - 1 do s = round(s + round(x[i] * y[i])) end return s end, n)
local a = round(3.7)
measure("f32 logistic, rounded", function()
  local v = round(0.3)
  for i = 0, n - 1 do v = round(round(a * v) * round(1 - v)) end
  return v
end, n)
local T, R = ffi.new("double[?]", 100 * m), ffi.new("double[?]", 100 * m)
for i = 0, 100 * m - 1 do T[i] = 0.5 * (i % 97) end
measure("three axes", function()
  for i = 1, 8 do for j = 1, m - 2 do for k = 1, 8 do
    local p = (i * m + j) * 10 + k
    R[p] = (T[p - 10 * m] + T[p + 10 * m] + T[p - 10] + T[p + 10] + T[p - 1] + T[p + 1]) / 6
  end end end
  return R[(4 * m + 5) * 10 + 6]
end, 64 * m)
measure("for x in v", function() local c = 0 for _, v in ipairs(w) do if v > 0.25 then c = c + 1 end end return c end, n)
math.randomseed(1)
measure("two of math.random()", function()
  local c = 0
  for i = 1, n do local x, y = math.random(), math.random(); if x * x + y * y < 1 then c = c + 1 end end
  return 4 * c / n
end, n)
local bit = require("bit")
measure("bits, 64 of them", function()
  local x = 1LL
  for i = 1, n do
    x = bit.bxor(x, bit.lshift(x, 13)); x = bit.bxor(x, bit.arshift(x, 7)); x = bit.bxor(x, bit.lshift(x, 17))
  end
  return tonumber(x % 1024)
end, n)
measure("whole numbers", function()
  local s = 0.0
  for i = 0, n - 1 do s = s + math.floor(i / 3 + 0.5) + math.floor(i / 7) end
  return s
end, n)
