"""The cases of check_rules.py: (row, operands, further arguments, options)."""


def r(*shape):
    return f"_numbers(({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}))"


def c(*shape):
    return f"({r(*shape)} + 1i * {r(*shape)})"


X = {"x": r(3, 4)}
Z = {"x": c(3, 4)}
CASES = []
for name in ("sum", "prod", "mean", "var", "std"):
    for x in (r(4), r(2, 3, 2), c(2, 3)):
        CASES.append((name, {"x": x}, {}))
    CASES.append((name, {"x": r(2, 3, 4)}, {"axis": "1"}))
    CASES.append((name, {"x": r(2, 3, 4)}, {"axis": "(0, -1)", "keepdims": "true"}))
    CASES.append((name, {"x": c(2, 3, 2)}, {"axis": "(2, 0)"}))
CASES += [("prod", {"x": "[2.0, 0, 3, 1]"}, {}), ("prod", {"x": "[2.0, 0; 0, 1.5]"}, {"axis": "1"}),
          ("prod", {"x": "[2.0, 0, 0, 3]"}, {}), ("var", {"x": r(3, 4)}, {"axis": "0", "ddof": "1"}),
          ("sum", {"x": "2.5"}, {}), ("mean", {"x": "2.5"}, {}), ("prod", {"x": "2.5"}, {})]
DISTINCT = "[3.5, -1.25, 2.0, 0.25; 7.0, 1.5, -2.0, 4.0; 0.5, 9.0, -5.5, 1.0]"
for name in ("min", "max", "median"):
    for given in ({}, {"axis": "0"}, {"axis": "(0, 1)", "keepdims": "true"}, {"axis": "-1"}):
        CASES.append((name, {"x": DISTINCT}, given))
for name in ("logsumexp",):
    for given in ({}, {"axis": "0"}, {"axis": "(0, 1)", "keepdims": "true"}, {"axis": "-1"}):
        CASES.append((name, {"x": r(3, 4)}, given))
CASES += [("softmax", X, {}), ("softmax", X, {"axis": "0"}), ("softmax", {"x": r(5)}, {})]
for name in ("cumsum", "cumprod"):
    for x in (X, Z, {"x": r(5)}, {"x": r(1)}, {"x": "[2.0, 0, 3, 0, 1.5]"}):
        CASES.append((name, x, {}))
        CASES.append((name, x, {"axis": "0"}))
    CASES.append((name, Z, {"axis": "-1"}))
for name in ("cummax", "cummin"):
    for given in ({}, {"axis": "0"}, {"axis": "-1"}):
        CASES.append((name, {"x": DISTINCT}, given))
for given in ({}, {"axis": "0"}, {"axis": "none"}, {"descending": "true"}):
    CASES.append(("sort", {"x": DISTINCT}, given))
CASES += [("unique", {"x": "[3.0, 1, 2, 5]"}, {}),
          ("unique", {"x": "[3.0, 1, 2, 5]"}, {"counts": "true", "inverse": "true"}),
          ("nansum", X, {"axis": "0"}), ("nansum", Z, {})]
for q in ("0.3", "0.56", "[0.125, 0.7]", "[0.1, 0.625; 0.8, 0.45]"):
    for given in ({}, {"axis": "0"}, {"axis": "1", "keepdims": "true"}):
        CASES.append(("quantile", {"x": DISTINCT, "q": q}, given, {"mp": False}))

# shapes
CASES += [("reshape", X, {}, {"call": "reshape(x, (2, 6))"}), ("flatten", X, {}), ("squeeze", {"x": r(1, 3, 1)}, {}),
          ("squeeze", {"x": r(1, 3, 1)}, {"axis": "0"}), ("expand", X, {"axis": "1"}), ("expand", X, {}),
          ("transpose", Z, {}), ("transpose", {"x": r(2, 3, 4)}, {"axes": "(2, 0, 1)"}),
          ("transpose", {"x": r(2, 3, 4)}, {"axes": "(0, -1, 1)"}),
          ("ctranspose", {"A": c(2, 3)}, {}), ("ctranspose", {"A": c(4, 2, 3)}, {}), ("ctranspose", {"A": c(3)}, {}),
          ("ctranspose", {"A": c(3) + "'"}, {}, {"v": {"A": "(_like_random([1i, 2, 3]))'"}})]
for given in ({}, {"axis": "1"}, {"axis": "-1"}):
    CASES.append(("concat", {"tensors": f"({r(3, 3)}, {r(3, 3)}, {c(3, 3)})"}, given,
                  {"call": "concat(tensors...%s)" % (", axis=axis" if given else "")}))
    CASES.append(("concat", {"tensors": f"(({r(3, 3)}, {r(3, 3)}),)"}, given,
                  {"call": "concat(tensors[0]%s)" % (", axis=axis" if given else "")}))
    CASES.append(("stack", {"tensors": f"({r(3, 2)}, {c(3, 2)})"}, given,
                  {"call": "stack(tensors...%s)" % (", axis=axis" if given else "")}))
CASES += [("stack", {"tensors": f"({r(3)}, {r(3)})"}, {}, {"call": "stack(tensors...)"}),
          ("stack", {"tensors": "(1.5, 2.5)"}, {}, {"call": "stack(tensors...)"}),
          ("split", {"x": r(4, 3)}, {"parts": "2"}), ("split", {"x": r(4, 3)}, {"parts": "(1, 3)", "axis": "0"}),
          ("split", {"x": c(2, 6)}, {"parts": "3", "axis": "1"}, {"w": ["w[1] = none"]}),
          ("split", {"x": r(2, 6)}, {"parts": "(1, -2)", "axis": "-1"}, {"w": ["w[0] = none"]}),
          ("split", {"x": r(2, 6)}, {"parts": "(3, 3, 5)", "axis": "-1"}, {"w": ["w[1] = none"]}),
          ("tile", {"x": r(2, 3)}, {}, {"call": "tile(x, 2)"}), ("tile", {"x": r(3)}, {}, {"call": "tile(x, 2, 3)"}),
          ("tile", {"x": c(2, 3)}, {}, {"call": "tile(x, (2, 1, 2))"}),
          ("repeat", {"x": r(2, 3)}, {"n": "2"}), ("repeat", {"x": r(2, 3)}, {"n": "2", "axis": "1"}),
          ("repeat", {"x": c(2, 3)}, {"n": "[2, 0, 3]", "axis": "-1"}), ("repeat", {"x": r(3)}, {"n": "[1, 2, 0]"}),
          ("flip", X, {}), ("flip", Z, {"axis": "1"}), ("flip", X, {"axis": "(0, 1)"}),
          ("roll", X, {"shift": "2"}), ("roll", X, {"shift": "-1", "axis": "1"}),
          ("roll", X, {"shift": "(1, 2)", "axis": "(0, 1)"}),
          ("broadcast_to", {"x": r(3)}, {}, {"call": "broadcast_to(x, 2, 3)"}),
          ("broadcast_to", {"x": c(2, 1)}, {}, {"call": "broadcast_to(x, (4, 2, 3))"}),
          ("broadcast_to", {"x": "2.5"}, {}, {"call": "broadcast_to(x, (2, 3))"}),
          ("take", {"x": r(5)}, {"indices": "[0, -1, 2, 2]"}), ("take", X, {"indices": "[1, 5; 0, 1]"}),
          ("take", X, {"indices": "[1, 0; 1, -1]", "axis": "1"}), ("take", Z, {"indices": "2", "axis": "0"}),
          ("take", X, {"indices": "3"}), ("take", X, {"indices": "[0, 0, 2]", "axis": "0"}),
          ("diag", {"x": r(3)}, {}), ("diag", {"x": r(3)}, {"k": "-1"}), ("diag", {"x": c(3, 4)}, {}),
          ("diag", {"x": r(4, 3)}, {"k": "1"}), ("diag", {"x": r(4, 3)}, {"k": "-2"}),
          ("diag", {"x": r(2, 3, 5)}, {"k": "1"}), ("triu", Z, {}), ("triu", X, {"k": "1"}), ("tril", X, {"k": "-1"}),
          ("tril", {"x": r(2, 3, 3)}, {})]
for mode in ("constant", "edge", "reflect", "wrap"):
    for x, width in ((r(4), "2"), (r(3, 4), "(1, 2)"), (c(3, 4), "((1, 0), (2, 1))")):
        CASES.append(("pad", {"x": x}, {"width": width, "mode": f'"{mode}"'}))
CASES += [("pad", {"x": r(3)}, {"width": "(1, 2)"}),
          ("pad", {"x": r(3), "value": "1.5"}, {"width": "(1, 2)"}, {"call": "pad(x, width, value=value)"}),
          ("meshgrid", {"vectors": f"({r(2)}, {r(3)}, {r(4)})"}, {}, {"call": "meshgrid(vectors...)"}),
          ("meshgrid", {"vectors": f"({r(2)}, {r(3)})"}, {"indexing": '"ij"'},
           {"call": "meshgrid(vectors..., indexing=indexing)", "w": ["w[0] = none"]}),
          ("meshgrid", {"vectors": f"({r(2)},)"}, {}, {"call": "meshgrid(vectors...)"}),
          ("like", {"value": r(2, 1)}, {"a": r(2, 3)}, {"call": "like(a, value)"}),
          ("full", {"value": "2.5"}, {}, {"call": "full((2, 3), value=value)"}),
          ("full", {"value": r(3)}, {}, {"call": "full((2, 3), value=value)"}),
          ("append", {"t": r(3), "v": r(2)}, {}), ("append", {"t": r(3), "v": "1.5"}, {}),
          ("append", {"t": f"({r(3)}, 2.5)", "v": r(2)}, {}),
          ("cast", X, {}, {"call": "cast(x, f64)", "mp": False}), ("float", {"x": "2.5"}, {}, {"mp": False}),
          ("to", X, {}, {"call": "to(x, cpu)"}), ("complex", {"re": r(3), "im": r(3)}, {}),
          ("complex", {"re": c(3), "im": c(3)}, {}, {"call": "re + im*1i"}),
          ("linspace", {"start": "1.5", "stop": "2.75"}, {"n": "5"}),
          ("linspace", {"start": "1.5", "stop": "2.75"}, {"n": "5", "endpoint": "false"}),
          ("logspace", {"start": "0.5", "stop": "0.75"}, {"n": "4"}),
          ("logspace", {"start": "0.5", "stop": "0.75"}, {"n": "4", "base": "3.0"}),
          ("arange", {"start": "0.5", "step": "0.375"}, {}, {"call": "arange(start, detach(2.7 + 0 * step), step)"})]

# products
for a, b in ((r(3, 4), r(4, 2)), (c(3, 4), r(4, 2)), (r(3), r(3)), (r(3), r(3, 2)), (r(2, 3), c(3)),
             (r(5, 2, 3), r(3, 4)), (r(2, 3), r(5, 3, 4)), (r(2, 1, 2, 3), r(4, 3, 2)), (r(5, 2, 3), r(3)),
             (r(3), r(5, 3, 2)), (r(3) + "'", c(3)), (c(3) + "'", r(3, 2)), (r(1, 3), r(3))):
    CASES.append(("matmul", {"A": a, "B": b}, {}, {"v": {"A": "(_like_random(A'))'"}} if "'" in a else {}))
CASES += [("matmul", {"A": r(3), "B": c(2) + "'"}, {}, {"v": {"B": "(_like_random(B'))'"}}),
          ("dot", {"a": r(4), "b": r(4)}, {}), ("dot", {"a": c(4), "b": c(4)}, {}), ("dot", {"a": r(4), "b": c(4)}, {}),
          ("outer", {"a": c(3), "b": r(2)}, {}), ("outer", {"a": r(3, 2), "b": c(2, 2)}, {}),
          ("cross", {"a": r(3), "b": c(3)}, {}), ("cross", {"a": r(4, 3), "b": r(3)}, {}),
          ("kron", {"A": r(2, 3), "B": c(3, 2)}, {}), ("kron", {"A": r(2), "B": r(3)}, {}),
          ("kron", {"A": r(2), "B": r(3, 2)}, {}), ("kron", {"A": r(2, 2, 3), "B": r(3, 2)}, {}),
          ("trace", {"A": r(3, 3)}, {}), ("trace", {"A": c(2, 3, 4)}, {})]
for spec, operands in (("ij,jk->ik", (r(2, 3), c(3, 4))), ("ij,jk", (r(2, 3), r(3, 4))), ("ii", (r(3, 3),)),
                       ("ii->i", (c(3, 3),)), ("ij->ji", (r(2, 3),)), ("ij->", (r(2, 3),)), ("ij->i", (r(2, 3),)),
                       ("ba", (r(2, 3),)), ("i,i->", (r(3), c(3))), ("...ij,...jk->...ik", (r(2, 2, 3), r(3, 2))),
                       ("...ij,jk", (r(5, 2, 3), r(3, 2))), ("i...,i...->...", (r(3, 2), r(3, 4, 1))),
                       ("iij,jk,ki->", (r(2, 2, 3), r(3, 4), r(4, 2))), ("i,j->ij", (r(3), r(1))),
                       ("ij,ij->ij", (r(3, 1), r(1, 4))), ("iji->j", (r(3, 2, 3),)), ("iii->i", (r(3, 3, 3),)),
                       ("ij, kl -> il", (r(2, 3), r(2, 2))), ("...->...", (r(2, 3),)), (",->", ("1.5", "2.5"))):
    CASES.append(("einsum", {"tensors": "(" + ", ".join(operands) + ",)"}, {"spec": f'"{spec}"'},
                  {"call": "einsum(spec, tensors...)"}))

# linear algebra
W3 = "[4.0, 1, -0.5; 0.75, 3, 1.25; -1, 0.5, 5]"
W3i = f"({W3} + 1i * [0.5, 0.25, -1; 1, 0.75, 0.5; -0.5, 0.25, 1])"
B3 = f"stack({W3}, transpose({W3}) + 0.125 * {W3})"
S3 = "[4.0, 1, -0.5; 1, 3, 1.25; -0.5, 1.25, 5]"
H3 = "[4.0+0i, 1+0.5i, -0.5i; 1-0.5i, 3, 1.25+1i; 0.5i, 1.25-1i, 5]"
HB = f"stack({S3}, 2 * {S3} + 0.5 * eye(3))"
T42 = "[1.0, 2; -0.5, 1.5; 3, 0.25; 0.5, -1]"
T42i = f"({T42} + 1i * [0.25, -0.5; 1, 0.75; -1, 2; 0.5, 0.125])"
SYM = {"v": {"A": "0.5 * (dir + _h(dir))"}}
for A, b in ((W3, r(3)), (W3, r(3, 2)), (W3i, c(3)), (W3i, r(3, 2)), (W3, c(3, 2)), (B3, r(3)), (B3, r(3, 2)),
             (W3, r(4, 3, 2)), (S3, r(3)), (B3, r(2, 3, 1))):
    CASES.append(("solve", {"A": A, "b": b}, {}))
for A in (T42, T42i, f"({T42})'", f"({T42i})'", f"stack({T42}, 2 * {T42} + 1)"):
    rows = 2 if A.endswith("'") else 4
    for b in (r(rows), r(rows, 3), c(rows)):
        CASES.append(("solve", {"A": A, "b": b}, {}, {"call": "A \\ b"}))
        CASES.append(("lstsq", {"A": A, "b": b}, {}, {"w": ["w.rank = none", "w.cond = none"]}))
for name in ("inv", "det", "slogdet", "expm", "sqrtm", "logm", "eigvals"):
    for A in (W3, W3i, B3):
        CASES.append((name, {"A": A}, {}))
CASES += [("det", {"A": "[1.0, 2; 2, 4]"}, {}), ("det", {"A": "[1.0, 2, 3; 2, 4, 6; 1, 0, 1]"}, {}),
          ("det", {"A": "[2.5]" + "[:, none]"}, {}),
          ("det", {"A": "stack([1.0, 2; 2, 4], [1.0, 2; 3, 4])"}, {}), ("det", {"A": "[1+1i, 2; 2, 2-2i]"}, {}),
          ("expm", {"A": "[0.0, 1; 0, 0]"}, {}), ("expm", {"A": "zeros(2, 2)"}, {}),
          ("logm", {"A": "[-1.0, 0.5; 0.25, 2]"}, {}), ("sqrtm", {"A": "[-1.0, 0.5; 0.25, 2]"}, {}),
          ("sqrtm", {"A": S3}, {}), ("logm", {"A": S3}, {})]
for n in ("0", "1", "2", "5", "-1", "-3"):
    CASES += [("matpow", {"A": W3}, {"n": n}), ("matpow", {"A": W3i}, {"n": n}), ("matpow", {"A": B3}, {"n": n})]
for name in ("chol", "eigvalsh"):
    for A in (S3, H3, HB):
        CASES.append((name, {"A": A}, {}, {"v": {"A": "0.5 * (dir + _h(dir))"}}))
FREE_H = ["w.vectors = _free(result.vectors, w.vectors)"]
CASES += [("eigh", {"A": S3}, {}, SYM), ("eigh", {"A": HB}, {}, SYM),
          ("eigh", {"A": H3}, {}, dict(SYM, call="_fixed_eigh(A)", w=FREE_H)),
          ("eigh", {"A": S3}, {}, dict(SYM, w=["w.vectors = none"])),
          ("eigh", {"A": S3}, {}, dict(SYM, w=["w.values = none"])),
          ("eig", {"A": W3}, {}), ("eig", {"A": "[1.0, 2; 3, 4]"}, {}), ("eig", {"A": B3}, {}),
          ("eig", {"A": W3i}, {}, {"call": "_fixed_eig(A)", "w": FREE_H}),
          ("eig", {"A": "[1.0, 2; -3, 4]"}, {}, {"call": "_fixed_eig(A)", "w": FREE_H}),
          ("eig", {"A": W3i}, {}, {"w": ["w.vectors = none"]}), ("eigvals", {"A": "[1.0, 2; -3, 4]"}, {})]
for A in (W3, T42, f"({T42})'", B3, f"stack({T42}, 2 * {T42} + 1)", f"_h(stack({T42}, 2 * {T42} + 1))"):
    CASES += [("svd", {"A": A}, {}), ("svd", {"A": A}, {}, {"w": ["w.U = none"]}),
              ("svd", {"A": A}, {}, {"w": ["w.Vt = none", "w.S = none"]})]
FREE_S = ["w.U = _free(result.U, w.U)", "w.Vt = _h(_free(_h(result.Vt), _h(w.Vt)))"]
for A in (W3i, T42i, f"({T42i})'"):
    CASES += [("svd", {"A": A}, {}, {"call": "_fixed_svd(A)", "w": FREE_S}),
              ("svd", {"A": A}, {}, {"w": ["w.U = none", "w.Vt = none"]})]
NONZERO = "[1.5, -2.25, 0.5, 3.0, -0.75, 1.0, 0.25, -4.5, 2.0, 1.75, -1.25, 0.625, 5.0, -3.5, 0.875, 1.125]"
MATRICES = (W3, W3i, B3, T42, T42i, f"({T42})'", f"({T42i})'", f"stack({T42}, 2 * {T42} + 1)")
for A in MATRICES:
    CASES += [("qr", {"A": A}, {}), ("qr", {"A": A}, {}, {"w": ["w.Q = none"]}),
              ("qr", {"A": A}, {}, {"w": ["w.R = none"]}), ("svdvals", {"A": A}, {}), ("pinv", {"A": A}, {}),
              ("lu", {"A": A}, {}, {"w": ["w.P = none"]}), ("lu", {"A": A}, {}, {"w": ["w.P = none", "w.U = none"]}),
              ("lu", {"A": A}, {}, {"w": ["w.P = none", "w.L = none"]}), ("cond", {"A": A}, {}),
              ("cond", {"A": A}, {"p": "-2"})]
    for p in ("1", "-1", "inf", "-inf", "2", "-2", '"fro"', '"nuc"'):
        CASES.append(("norm", {"x": A}, {"ord": p}))
    CASES.append(("norm", {"x": A}, {}))
for A in (W3, W3i, B3):
    for p in ("1", "-1", "inf", "-inf", '"fro"', '"nuc"'):
        CASES.append(("cond", {"A": A}, {"p": p}, {"mp": p != '"nuc"'}))
for p in ("1", "2", "inf", "-inf", "0", "3", "1.5", "-1", "0.5"):
    roots = {"mp": p not in ("3", "1.5")}
    CASES += [("norm", {"x": "[1.5, -2.25, 0.5, 3.0]"}, {"ord": p}, roots), ("norm", {"x": c(4)}, {"ord": p}),
              ("norm", {"x": f"reshape({NONZERO}, (2, 4, 2))"}, {"ord": p, "axis": "1"}, roots),
              ("norm", {"x": f"1i + reshape({NONZERO}, (2, 8))"}, {"ord": p, "axis": "-1", "keepdims": "true"})]
for p in ("1", "2", "-inf", '"nuc"', '"fro"'):
    CASES += [("norm", {"x": f"reshape({NONZERO}, (2, 4, 2))"}, {"ord": p, "axis": "(0, 2)"}),
              ("norm", {"x": f"reshape({NONZERO}, (2, 4, 2))"}, {"ord": p, "axis": "(2, 1)", "keepdims": "true"})]
CASES += [("norm", {"x": r(2, 4, 3)}, {}), ("norm", {"x": r(2, 4, 3)}, {"axis": "(0, 2)"}), ("norm", {"x": "2.5"}, {}),
          ("norm", {"x": r(2, 4, 3)}, {"axis": "1", "keepdims": "true"})]

# signals
for norm in ("backward", "forward", "ortho"):
    N = {"norm": f'"{norm}"'}
    for x in (r(5), c(2, 6), r(2, 6)):
        CASES += [("fft", {"x": x}, N), ("ifft", {"x": x}, N), ("fftn", {"x": x}, N), ("ifftn", {"x": x}, N)]
        if x[0] != "(":
            CASES.append(("rfft", {"x": x}, N))
    CASES += [("fft", {"x": c(3, 4)}, dict(N, axis="0", n="5")), ("ifft", {"x": c(3, 4)}, dict(N, axis="1", n="2")),
              ("rfft", {"x": r(3, 4)}, dict(N, axis="0", n="6")), ("rfft", {"x": r(3, 5)}, dict(N, n="3")),
              ("irfft", {"x": c(4)}, N), ("irfft", {"x": c(4)}, dict(N, n="7")),
              ("irfft", {"x": c(2, 4)}, dict(N, n="4")), ("irfft", {"x": c(3, 2)}, dict(N, n="9", axis="0")),
              ("irfft", {"x": c(3, 2)}, dict(N, n="10", axis="0")), ("irfft", {"x": r(4)}, N),
              ("fft2", {"x": c(2, 3, 4)}, N), ("ifft2", {"x": c(3, 4)}, N), ("fftn", {"x": c(2, 3, 4)}, dict(N, axes="(0, 2)")),
              ("ifftn", {"x": c(2, 3, 4)}, dict(N, axes="(1, 0)"))]
CASES += [("fftshift", {"x": r(5, 3)}, {}), ("ifftshift", {"x": c(5, 3)}, {"axes": "0"}), ("fftshift", {"x": r(5)}, {"axes": "0"})]
for mode in ("full", "same", "valid"):
    M = {"mode": f'"{mode}"'}
    for a, b in ((r(6), r(3)), (r(3), r(6)), (c(6), r(4)), (r(2, 5), c(3)), (r(5), r(5)), (r(3, 1, 6), r(2, 2))):
        CASES.append(("conv", {"a": a, "b": b}, M))
    CASES.append(("conv", {"a": r(5, 2), "b": c(3, 2)}, dict(M, axis="0")))
    for a, b in ((r(5, 6), r(3, 2)), (r(5, 6), c(2, 3)), (r(2, 5, 4), r(3, 3)), (r(4, 5), r(4, 4))):
        CASES.append(("conv2", {"a": a, "b": b}, M))
CASES += [("conv2", {"a": r(2, 3), "b": r(4, 5)}, {"mode": m}) for m in ('"full"', '"same"', '"valid"')]
CASES += [("conv", {"a": r(5), "b": r(3)}, {}), ("diff", {"x": r(6)}, {}), ("diff", {"x": c(3, 5)}, {"n": "2"}),
          ("diff", {"x": c(4, 3)}, {"axis": "0", "n": "3"}), ("diff", {"x": r(4)}, {"n": "0"}),
          ("diff", {"x": r(4), "prepend": "1.5", "append": r(2)}, {}, {"call": "diff(x, prepend=prepend, append=append)"}),
          ("diff", {"x": r(2, 4), "prepend": r(2, 2)}, {"n": "2"}, {"call": "diff(x, n, prepend=prepend)"})]
XP = "[0.5, 1.25, 2.0, 4.0]"
AT = "[0.75, 3.5, -1.0, 1.9, 9.0; 1.3, 0.6, 5.0, 2.5, 0.0]"
for f in (r(4), c(4)):
    CASES += [("interp", {"x": AT, "xp": XP, "fp": f}, {}),
              ("interp", {"x": "1.5", "xp": XP, "fp": f}, {}),
              ("interp", {"x": AT, "xp": XP, "fp": f, "left": "0.5"}, {}, {"call": "interp(x, xp, fp, left=left)"}),
              ("interp", {"x": AT, "xp": XP, "fp": f, "left": "0.5", "right": "2.5"}, {},
               {"call": "interp(x, xp, fp, left=left, right=right)"}),
              ("interp", {"x": AT, "xp": "[4.125, -3.5, 0.25, 7.1]", "fp": f}, {"period": "5.0"})]
for m in (r(3, 6), c(3, 6), r(6)):
    CASES += [("cov", {"m": m}, {}), ("cov", {"m": m}, {"bias": "true"}), ("cov", {"m": m}, {"ddof": "2"}),
              ("cov", {"m": m}, {"fweights": "[1, 2, 0, 3, 1, 1]"}),
              ("cov", {"m": m}, {"fweights": "[1, 2, 0, 3, 1, 1]", "aweights": "[0.5, 1, 2, 0.25, 1, 1]"}),
              ("cov", {"m": m}, {"aweights": "[0.5, 1, 2, 0.25, 1, 1]"}),
              ("cov", {"m": m, "y": r(2, 6)}, {}), ("corrcoef", {"x": m}, {}),
              ("corrcoef", {"x": m, "y": r(2, 6)}, {})]
CASES += [("cov", {"m": r(6, 3)}, {"rowvar": "false"}), ("corrcoef", {"x": r(6, 3)}, {"rowvar": "false"}),
          ("cov", {"m": r(6, 3), "y": r(6, 2)}, {"rowvar": "false"}, {"call": "cov(m, y, rowvar=rowvar)"}),
          ("bincount", {"weights": r(5)}, {"x": "[0, 2, 2, 1, 4]"}, {"call": "bincount(x, weights=weights)"})]

# results that are f64 whatever the operands are
for k, case in enumerate(CASES):
    if case[0] in ("like", "float", "linspace", "logspace", "arange", "interp", "bincount", "fftfreq", "rfftfreq") or "aweights" in case[2]:
        CASES[k] = (*case[:3], dict(case[3] if len(case) > 3 else {}, narrow=False))
CASES += [("fftfreq", {"d": "1.5"}, {"n": "5"}, {"call": "fftfreq(n, d)", "narrow": False}),
          ("rfftfreq", {"d": "1.5"}, {"n": "5"}, {"call": "rfftfreq(n, d)", "narrow": False}),
          ("exact", {"x": "2.5"}, {}, {"call": "f64(exact(x))", "mp": False, "narrow": False})]

# Where mathematics leaves a choice: (row, operands, slopes times w = 1).
ATTENDED = {"q": r(3, 2), "k": r(4, 2), "v": r(4, 3)}
CASES += [("attention_lse", ATTENDED, {}), ("attention_lse", ATTENDED, {"causal": "true", "scale": "0.25"}),
          ("attention_lse", {"q": r(2, 3, 2), "k": r(4, 2), "v": r(2, 4, 3)}, {"window": "(1, 0)"}),
          ("attention_lse", {**ATTENDED, "bias": r(3, 4)}, {}, {"call": "attention_lse(q, k, v, bias=bias)"}),
          ("attention_lse", {**ATTENDED, "bias": r(4)}, {"causal": "true"},
           {"call": "attention_lse(q, k, v, causal, bias=bias)"}),
          ("attention_lse", {**ATTENDED, "scale": "0.7"}, {}, {"call": "attention_lse(q, k, v, scale=scale)"}),
          ("attention_lse", ATTENDED, {"bias": "(i, j) -> 0.3 * abs(i - j)"}),
          ("attention_back", {"g": r(3, 3), **ATTENDED}, {},
           {"call": "attention_back(g, q, k, v, attention_lse(q, k, v))", "only": "registry"}),
          ("attention_back", {"g": r(3, 3), **ATTENDED, "bias": r(3, 1), "lse": r(3)}, {},
           {"call": "attention_back(g, q, k, v, attention_lse(q, k, v, true, bias=bias), true, bias=bias, lse=lse, "
                    "slopes=true)", "only": "registry"})]

KINKS = [("abs", ["[0.0, -0.0, -2, 3, 1e-310]"], ["[0.0, 0, -1, 1, 1]"]), ("relu", ["[0.0, -1, 2]"], ["[0.0, 0, 1]"]),
         ("abs", ["[3+4i, 0i]"], ["[0.6+0.8i, 0i]"]), ("hypot", ["[0.0, 3, 1e300]", "[0.0, 4, 0]"], ["[0.0, 0.6, 1]", "[0.0, 0.8, 0]"]),
         ("angle", ["[0i, 2+0i]"], ["[0i, 0.5i]"]), ("sqrt", ["[0.0, 4]"], ["[inf, 0.25]"]),
         ("atan2", ["[0.0, 1e-200]", "[0.0, 1e-200]"], ["[0.0, 5e199]", "[0.0, -5e199]"]),
         ("power", ["[0.0, 0, 2, 0, 0]", "[0.0, 2, 0, 1, 3]"], ["[0.0, 0, 0, 1, 0]", "[0.0, 0, 0.6931471805599453, 0, 0]"]),
         ("power", ["[-2.0, -3]", "[2, 3]"], ["[-4.0, 27]"]),
         ("clamp", ["[-1.0, 0, 0.5, 1, 2]", "0.0", "1.0"], ["[0.0, 1, 1, 1, 0]", "[1.0, 0, 0, 0, 0]", "[0.0, 0, 0, 0, 1]"]),
         ("clamp", ["[0.5]", "1.0", "0.0"], ["[0.0]", "[0.0]", "[1.0]"]),
         ("maximum", ["[1.0, 2, 3]", "[2.0, 2, 2]"], ["[0.0, 0.5, 1]", "[1.0, 0.5, 0]"]),
         ("minimum", ["[1.0, 2, 3]", "[2.0, 2, 2]"], ["[1.0, 0.5, 0]", "[0.0, 0.5, 1]"]),
         ("mod", ["[7.5, -7.5]", "[2.0, 2.0]"], ["[1.0, 1]", "[-3.0, 4]"]),
         ("expm1", ["[-40.0, 1e-20]"], ["[4.248354255291589e-18, 1.0]"]), ("log1p", ["[1e-20]"], ["[1.0]"]),
         ("softplus", ["[-800.0, 800, -40]"], ["[0.0, 1, 4.248354255291589e-18]"]),
         ("silu", ["[-800.0, 800, 0]"], ["[0.0, 1, 0.5]"]), ("gelu", ["[-800.0, 800, 0]"], ["[0.0, 1, 0.5]"]),
         ("tanh", ["[800.0, -800]"], ["[0.0, 0]"]), ("sigmoid", ["[800.0, -800, 0]"], ["[0.0, 0, 0.25]"]),
         ("asinh", ["[1e200, -1e200, 0]"], ["[1e-200, 1e-200, 1]"]), ("acosh", ["[1e200, 2]"], ["[1e-200, 0.5773502691896258]"]),
         ("atanh", ["[0.9999999999999999]"], ["[4503599627370496.0]"]), ("asin", ["[1.0]"], ["[inf]"]),
         ("where", ["[true, false]", "[1.0, 2]", "[3.0, 4]"], ["-", "[1.0, 0]", "[0.0, 1]"]),
         ("lgamma", ["[1.0, 0.5, -0.5, 1e10, 1e-5, -1e-5]"],
          ["[-0.5772156649015329, -1.9635100260214235, 0.03648997397857652, 23.02585092989046, -100000.57719921568, 99999.42276788577]"]),
         ("gamma", ["[1.0, 5]"], ["[-0.5772156649015329, 36.14682404236321]"]),
         ("divide", ["f16([1e-3])", "f16([1e-2])"], ["f16([100.0])", "f16([-10.0])"])]

# (rule, expression, value)
VALUES = [("det", "d_det([1.0, 2; 2, 4], 0.0, 1.0).A", "[4.0, -2; -2, 1]"),
          ("det", "d_det(rational([1, 2; 2, 4]), rational(0), rational(1)).A", "rational([4, -2; -2, 1])"),
          ("det", "d_det(rational([1, 2; 3, 4]), rational(-2), rational(1)).A", "rational([4, -3; -2, 1])"),
          ("prod", "d_prod([2.0, 0, 3], none, 1.0).x", "[0.0, 6, 0]"),
          ("prod", "d_prod(rational([2, 0, 3]), none, rational(1)).x", "rational([0, 6, 0])"),
          ("prod", "d_prod([0.0, 0, 3], none, 1.0).x", "[0.0, 0, 0]"),
          ("cumprod", "d_cumprod([2.0, 0, 3], none, [1.0, 1, 1]).x", "[1.0, 8, 0]"),
          ("max", "d_max([3.0, 1, 3], none, 3.0, 1.0).x", "[0.5, 0, 0.5]"),
          ("max", "d_max([3.0, nan, 3], none, nan, 1.0).x", "[0.0, 1, 0]"),
          ("min", "d_min([3.0, 1; 1, 3], 0, [1.0, 1], [1.0, 2]).x", "[0.0, 2; 1, 0]"),
          ("norm", "d_norm([0.0, 0], none, none, 0.0, 1.0).x", "[0.0, 0]"),
          ("norm", "d_norm([0.0, 0], 1, none, 0.0, 1.0).x", "[0.0, 0]"),
          ("norm", "d_norm([0.0, 0], 3, none, 0.0, 1.0).x", "[0.0, 0]"),
          ("norm", "d_norm([0.0, 0], inf, none, 0.0, 1.0).x", "[0.0, 0]"),
          ("norm", "d_norm([3.0, -3, 1], inf, none, 3.0, 1.0).x", "[0.5, -0.5, 0]"),
          ("norm", "d_norm(zeros(2, 2), 2, none, 0.0, 1.0).x", "zeros(2, 2) + 0.5 * eye(2)"),
          ("norm", "d_norm([1e200, 1e200], none, none, norm([1e200, 1e200]), 1.0).x", "[sqrt(0.5), sqrt(0.5)]"),
          ("std", "d_std([2.0, 2, 2], none, none, 0.0, 1.0).x", "[0.0, 0, 0]"),
          ("logsumexp", "d_logsumexp([1000.0, 1000], none, 1000.0, 1.0).x", "[1.0, 1]"),
          ("logsumexp", "d_logsumexp([-inf, -inf], none, -inf, 1.0).x", "[0.0, 0]"),
          ("unique", "d_unique([3.0, 1, 3], [1.0, 2]).x", "[1.0, 1, 1]"),
          ("median", "d_median([3.0, 1, 2, 9], none, 1.0).x", "[0.5, 0, 0.5, 0]"),
          ("eigh", "d_eigh(none, eigh(eye(2)), (values=[1.0, 2], vectors=none)).A", "[1.0, 0; 0, 2]"),
          ("eigvals", "d_eigvals([1.0, 2; 0, 3], [3.0, 1], [1.0, 5]).A", "d_eigvals([1.0, 2; 0, 3], [1.0, 3], [5.0, 1]).A"),
          ("solve", "d_solve(factorize([2.0, 1; 1, 3]), [3.0, 5], [0.8, 1.4], [1.0, 1], (A=false, b=true)).b", "[0.4, 0.2]"),
          ("full", "d_full(((2, 3), 2.5), none, ones(2, 3)).shape[1]", "6.0"),
          ("solve", "d_solve(rational([2, 1; 1, 3]), rational([3, 5]), rational([4, 7]) / 5, rational([1, 1]), (A=true, b=true)).b", "rational([2, 1]) / 5"),
          ("inv", "d_inv(rational([2, 0; 0, 4]) / 8, rational([1, 1; 1, 1])).A", "rational([-4, -8; -8, -16]) / 64"),
          ("matpow", "d_matpow(rational([1, 2; 3, 4]), 2, rational([1, 0; 0, 0])).A", "rational([2, 3; 2, 0])"),
          ("sum", "d_sum((0, 2), 0, [1.0, 2]).x", "zeros(0, 2)"), ("prod", "d_prod(zeros(0, 2), 0, [1.0, 2]).x", "zeros(0, 2)"),
          ("mean", "d_mean((2, 0), 1, zeros(2)).x", "zeros(2, 0)"), ("cumsum", "d_cumsum((0,), none, zeros(0)).x", "zeros(0)"),
          ("cumprod", "d_cumprod(zeros(0), none, zeros(0)).x", "zeros(0)"),
          ("softmax", "d_softmax(none, zeros(0, 2), zeros(0, 2)).x", "zeros(0, 2)"),
          ("sort", "d_sort(zeros(0), none, none, zeros(0)).x", "zeros(0)"),
          ("matmul", "d_matmul(zeros(2, 0), zeros(0, 3), ones(2, 3), (A=true, B=true)).A", "zeros(2, 0)"),
          ("matmul", "d_matmul(zeros(4, 2, 0), zeros(0, 3), ones(4, 2, 3), (A=true, B=true)).B", "zeros(0, 3)"),
          ("einsum", "d_einsum(\"ij,jk->ik\", (zeros(2, 0), zeros(0, 3)), ones(2, 3), (tensors=true,)).tensors[0]", "zeros(2, 0)"),
          ("solve", "d_solve(zeros(0, 0), zeros(0), zeros(0), zeros(0), (A=true, b=true)).A", "zeros(0, 0)"),
          ("inv", "d_inv(zeros(0, 0), zeros(0, 0)).A", "zeros(0, 0)"), ("det", "d_det(zeros(0, 0), 1.0, 1.0).A", "zeros(0, 0)"),
          ("take", "d_take((3,), zeros(0, dtype=i64), none, zeros(0)).x", "zeros(3)"),
          ("concat", "d_concat(((0, 2), (1, 2)), none, ones(1, 2)).tensors[0]", "zeros(0, 2)"),
          ("pad", "d_pad((0,), 1, none, ones(2), none, (value=false,)).x", "zeros(0)"),
          ("tile", "d_tile((0,), zeros(0)).x", "zeros(0)"), ("norm", "d_norm(zeros(0), none, none, 0.0, 1.0).x", "zeros(0)"),
          ("svd", "d_svd(none, svd(zeros(0, 2)), (U=zeros(0, 0), S=none, Vt=zeros(0, 2))).A", "zeros(0, 2)"),
          ("svd", "_svd_norm(eye(3)).A", "eye(3) / sqrt(3)"),
          ("svd", "_svd_norm([2.0, 0; 0, 2; 0, 0]).A", "[2.0, 0; 0, 2; 0, 0] / sqrt(8)")]

# (rule, expression, part of its message)
ERRORS = [("eigh", "d_eigh(none, eigh(eye(2)), (values=none, vectors=[1.0, 2; 3, 4]))", "the eigenvalues 1.0 and 1.0 are equal"),
          ("svd", "d_svd(none, svd(eye(3)), (U=[1.0, 2, 3; 0, 4, 5; 1, 1, 1], S=none, Vt=none))", "the singular values 1.0 and 1.0 are equal"),
          ("eigh", "d_eigh(none, eigh([2.0, 1i; -1i, 3]), (values=none, vectors=[1i, 2; 3, 4i]))", "depends on the phase"),
          ("svd", "d_svd(none, svd([1.0+1i, 2; 1i, 3]), (U=[1i, 2; 3, 4i], S=none, Vt=none))", "depends on the phase"),
          ("svd", "d_svd(true, svd(eye(3)), (U=none, S=none, Vt=none))", "full=true"),
          ("qr", "d_qr(true, none, qr(eye(3)), (Q=eye(3), R=none))", "full=true"),
          ("svd", "d_svd(none, svd([1.0, 0; 0, 0; 0, 0]), (U=[1.0, 2; 3, 4; 5, 6], S=none, Vt=none))", "singular value"),
          ("lstsq", "d_lstsq([1.0, 1; 1, 1; 1, 1], [1.0, 2, 3], lstsq([1.0, 1; 1, 1; 1, 1], [1.0, 2, 3]), (x=[1.0, 1], residual=none), (A=true, b=true))", "full rank"),
          ("inv", "d_slogdet([1.0, 2; 2, 4], (sign=0.0, logdet=-inf), (sign=none, logdet=1.0))", "singular")]

# ---- special functions: operands in the middle of their domains; the orders are constants ----
ABOVE, PART = "[0.5, 1.25, 3.5]", "[0.125, 0.5, 0.8125]"
for name in ("factorial", "digamma", "sinc"):
    CASES.append((name, {"n" if name == "factorial" else "x": ABOVE}, {}))
for name, operand, at in (("erfinv", "x", PART), ("erfcinv", "x", ABOVE[:-4] + "1.5]"), ("ellipk", "m", PART),
                          ("ellipe", "m", PART), ("logit", "p", PART), ("expit", "x", "[-2.5, 0.25, 3]"),
                          ("sinc", "x", "[-0.75, 0.0, 1.5]"), ("airy", "x", "[-2.5, 0.25, 1.5]")):
    CASES.append((name, {operand: at}, {}))
for name, first, second in (("comb", "n", "k"), ("beta", "a", "b"), ("lbeta", "a", "b"), ("xlogy", "x", "y"),
                            ("logaddexp", "x", "y")):
    CASES.append((name, {first: "[4.5, 5.25, 6.5]", second: "[1.25, 2.5, 0.75]"}, {}))
    CASES.append((name, {first: "[4.5; 5.25]", second: "[1.25, 2.5, 0.75]"}, {}))
for name, order, at in [("polygamma", "[1, 2, 3]", ABOVE), ("gammainc", "[0.5, 2.25, 3]", ABOVE),
                        ("gammaincinv", "[0.75, 2.25, 3]", PART)] + \
        [(f"bessel_{k}", "[0, 1, 2.5]", ABOVE) for k in "jyik"] + \
        [(name, "[0, 3, 4]", "[0.25, -0.5, 0.75]") for name in ("legendre", "hermite", "laguerre", "chebyshev_t")]:
    operand = "p" if name == "gammaincinv" else "x"
    first = "nu" if name.startswith("bessel") else "a" if name.startswith("gamma") else "n"
    CASES.append((name, {operand: at}, {first: order}, {"call": f"{name}({first}, {operand})", "narrow": False}))
for name, operand in (("betainc", "x"), ("betaincinv", "p")):
    CASES.append((name, {operand: PART}, {"a": "[0.75, 2, 3]", "b": "2.5"}, {"call": f"{name}(a, b, {operand})", "narrow": False}))
