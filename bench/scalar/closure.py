def adder(n):
    return lambda x: x + n


add = adder(3)
total = 0
for i in range(1000000):
    total = add(total)
print(total)
