def sieve(n):
    prime = [True] * n
    prime[0] = prime[1] = False
    i = 2
    while i * i < n:
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
        i += 1
    count = 0
    for k in range(n):
        if prime[k]:
            count += 1
    return count


print(sieve(1000000))
