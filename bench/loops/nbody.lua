local sqrt = math.sqrt
local function energy(x, y, z, vx, vy, vz, m)
    local e = 0.0
    for i = 1, 5 do
        e = e + 0.5 * m[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i])
        for j = i + 1, 5 do
            local dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            e = e - m[i] * m[j] / sqrt(dx * dx + dy * dy + dz * dz)
        end
    end
    return e
end
local function work(steps)
    local x = {0.0, 4.84143144246472090, 8.34336671824457987, 12.8943695621391310, 15.3796971148509165}
    local y = {0.0, -1.16032004402742839, 4.12479856412430479, -15.1111514016986312, -25.9193146099879641}
    local z = {0.0, -0.103622044471123109, -0.403523417114321381, -0.223307578892655734, 0.179258772950371181}
    local vx = {0.0, 0.606326392995832, -1.01077434617879236, 1.08279100644153536, 0.979090732243897976}
    local vy = {0.0, 2.81198684491626016, 1.82566237123041186, 0.868713018169608219, 0.594698998647676169}
    local vz = {0.0, -0.0252183616598876288, 0.00841576137658415351, -0.0108326374013636358, -0.0347559555078104037}
    local m = {39.4784176043574320, 0.0376936749096657755, 0.0112863261319687668, 0.00172372405705971067, 0.00203368686992463041}
    local dt = 0.01
    for step = 1, steps do
        for i = 1, 5 do
            for j = i + 1, 5 do
                local dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
                local d2 = dx * dx + dy * dy + dz * dz
                local mag = dt / (d2 * sqrt(d2))
                vx[i] = vx[i] - dx * m[j] * mag
                vy[i] = vy[i] - dy * m[j] * mag
                vz[i] = vz[i] - dz * m[j] * mag
                vx[j] = vx[j] + dx * m[i] * mag
                vy[j] = vy[j] + dy * m[i] * mag
                vz[j] = vz[j] + dz * m[i] * mag
            end
        end
        for i = 1, 5 do
            x[i] = x[i] + dt * vx[i]
            y[i] = y[i] + dt * vy[i]
            z[i] = z[i] + dt * vz[i]
        end
    end
    return math.floor(energy(x, y, z, vx, vy, vz, m) * 1e9)
end
print(work(200000))
