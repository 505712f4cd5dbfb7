def product(A, B, n):
    C = []
    for i in range(n):
        row, Ai = [], A[i]
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += Ai[k] * B[k][j]
            row.append(s)
        C.append(row)
    return C


n = 120
A = [[i + 2.0 * j for j in range(n)] for i in range(n)]
B = [[float(i - j) for j in range(n)] for i in range(n)]
C = product(A, B, n)
print(C[3][5], C[119][119])
