# The same calls through ctypes (`ctypes`) or cffi's ABI mode (`cffi`).
import random, sys, time

n = 300000
def best(run):
    t = float("inf")
    for _ in range(7):
        start = time.perf_counter(); run(); t = min(t, time.perf_counter() - start)
    return t / n
def empty():
    for i in range(n): 2.5
loop = best(empty)
def show(name, run): print(name + "\t" + str(max(best(run) - loop, 0)))
print("loop\t" + str(loop))

if sys.argv[1] == "ctypes":
    from ctypes import *
    m, c = CDLL("libm.so.6"), CDLL("libc.so.6")
    class div_t(Structure): _fields_ = [("quot", c_int), ("rem", c_int)]
    def function(lib, name, result, *args):
        f = lib[name]; f.restype = result; f.argtypes = args; return f
    cbrt = function(m, "cbrt", c_double, c_double); fma = function(m, "fma", c_double, c_double, c_double, c_double)
    cbrtf = function(m, "cbrtf", c_float, c_float); absolute = function(c, "abs", c_int, c_int)
    strlen = function(c, "strlen", c_size_t, c_char_p); memcpy = function(c, "memcpy", c_void_p, c_void_p, c_void_p, c_size_t)
    frexp = function(m, "frexp", c_double, c_double, POINTER(c_int)); div = function(c, "div", div_t, c_int, c_int)
    snprintf = c.snprintf
    a, b, e, out, pointer, hello, form = (c_double * 1000)(), (c_double * 1000)(), c_int(), create_string_buffer(32), byref, b"hello", b"%ld"
    number = lambda: c_long(7)
    Compare = CFUNCTYPE(c_int, POINTER(c_double), POINTER(c_double))
    qsort = function(c, "qsort", None, c_void_p, c_size_t, c_size_t, Compare)
    compare = Compare(lambda x, y: -1 if x[0] < y[0] else 1)
    values = [random.random() for _ in range(10000)]
    def sort(): qsort((c_double * 10000)(*values), 10000, 8, compare)
else:
    import cffi
    ffi = cffi.FFI()
    ffi.cdef("""double cbrt(double); double fma(double, double, double); float cbrtf(float); int abs(int); size_t strlen(const char *);
        void *memcpy(void *, const void *, size_t); double frexp(double, int *); typedef struct { int quot; int rem; } div_t; div_t div(int, int);
        int snprintf(char *, size_t, const char *, ...); void qsort(void *, size_t, size_t, int (*)(const void *, const void *));""")
    m, c = ffi.dlopen("libm.so.6"), ffi.dlopen("libc.so.6")
    cbrt, fma, cbrtf, absolute, strlen, memcpy, frexp, div, snprintf = m.cbrt, m.fma, m.cbrtf, c.abs, c.strlen, c.memcpy, m.frexp, c.div, c.snprintf
    a, b, e, out, pointer, hello, form = ffi.new("double[1000]"), ffi.new("double[1000]"), ffi.new("int *"), ffi.new("char[32]"), lambda p: p, b"hello", b"%ld"
    number = lambda: ffi.cast("long", 7)
    compare = ffi.callback("int(const void *, const void *)", lambda x, y: -1 if ffi.cast("double *", x)[0] < ffi.cast("double *", y)[0] else 1)
    values = [random.random() for _ in range(10000)]
    def sort(): c.qsort(ffi.new("double[]", values), 10000, 8, compare)

def loops():
    def f():
        for i in range(n): cbrt(2.5)
    show("cbrt(double)", f)
    def f():
        for i in range(n): fma(2.5, 1.5, 0.5)
    show("fma(3 doubles)", f)
    def f():
        for i in range(n): cbrtf(2.5)
    show("cbrtf(float)", f)
    def f():
        for i in range(n): absolute(-3)
    show("abs(int)", f)
    def f():
        for i in range(n): strlen(hello)
    show("strlen(string)", f)
    def f():
        for i in range(n): memcpy(a, b, 8)
    show("memcpy(tensors)", f)
    def f():
        for i in range(n): frexp(8.0, pointer(e))
    show("frexp(int *)", f)
    def f():
        for i in range(n): div(7, 2)
    show("div(struct)", f)
    def f():
        for i in range(n): snprintf(out, 32, form, number())
    show("snprintf(...)", f)
loops()
print("callback\t" + str(best(sort) * n / 120000))
