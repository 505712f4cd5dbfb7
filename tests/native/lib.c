/* The other side of the scripts beside it: C functions over every type that extern blocks know, as
 * parameter, pointer and result, by value and through memory. `make` builds libriccitest.so from it. */
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum color { RED, GREEN = 5, BLUE = -1 } color;

/* ---- numbers: the same in scalars.ric ---- */
#define SCALAR(N, T) \
    T id_##N(T x); T many_##N(T, T, T, T, T, T, T, T, T, T, T, T); T read_##N(const T *x); void write_##N(T *x, T v); \
    T total_##N(const T *x, int n); void twice_##N(T *x, int n); T *last_##N(T *x, int n); \
    T id_##N(T x) { return x; } \
    T many_##N(T a, T b, T c, T d, T e, T f, T g, T h, T i, T j, T k, T l) \
    { return (T)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l); } \
    T read_##N(const T *x) { return *x; } \
    void write_##N(T *x, T v) { *x = (T)(*x + v); } \
    T total_##N(const T *x, int n) { T s = 0; for (int i = 0; i < n; i++) s = (T)(s + x[i]); return s; } \
    void twice_##N(T *x, int n) { for (int i = 0; i < n; i++) x[i] = (T)(x[i] + x[i]); } \
    T *last_##N(T *x, int n) { return x + n - 1; }

SCALAR(bool, bool) SCALAR(char, char) SCALAR(schar, signed char) SCALAR(uchar, unsigned char)
SCALAR(short, short) SCALAR(ushort, unsigned short) SCALAR(int, int) SCALAR(uint, unsigned)
SCALAR(long, long) SCALAR(ulong, unsigned long) SCALAR(llong, long long) SCALAR(ullong, unsigned long long)
SCALAR(i8, int8_t) SCALAR(u16, uint16_t) SCALAR(i32, int32_t) SCALAR(u64, uint64_t) SCALAR(size, size_t)
SCALAR(color, color) SCALAR(float, float) SCALAR(double, double) SCALAR(ldouble, long double)
SCALAR(cfloat, float _Complex) SCALAR(cdouble, double _Complex) SCALAR(cldouble, long double _Complex)
#ifdef __FLT16_MANT_DIG__
SCALAR(half, _Float16)
#endif

/* ---- structs and unions by value: the same in records.ric ---- */
/* Made from a number, summed up, passed through, and passed where registers are used up. */
#define RECORD(N, MEMBERS, MAKE, SUM) \
    typedef struct N MEMBERS N; \
    N make_##N(double s); double sum_##N(N x); N id_##N(N x); double pair_##N(N x, N y); void scale_##N(N *x, double s); \
    double late_##N(int a, long b, short c, int d, double e, float f, double g, double h, double i, double j, N x); \
    N make_##N(double s) { N x; memset(&x, 0, sizeof x); MAKE; return x; } \
    double sum_##N(N x) { return SUM; } \
    N id_##N(N x) { return x; } \
    double pair_##N(N x, N y) { return sum_##N(x) + 100 * sum_##N(y); } \
    void scale_##N(N *x, double s) { *x = make_##N(sum_##N(*x) * s); } \
    double late_##N(int a, long b, short c, int d, double e, float f, double g, double h, double i, double j, N x) \
    { return sum_##N(x) + 1000 * (double)(a + b + c + d + e + f + g + h + i + j); }
#define ONE(N, A) RECORD(N, { A a; }, x.a = (A)s, (double)x.a)
#define TWO(N, A, B) RECORD(N, { A a; B b; }, (x.a = (A)s, x.b = (B)(s + 1)), (double)x.a + 2 * (double)x.b)
#define THREE(N, A, B, C) RECORD(N, { A a; B b; C c; }, (x.a = (A)s, x.b = (B)(s + 1), x.c = (C)(s + 2)), \
                                 (double)x.a + 2 * (double)x.b + 3 * (double)x.c)
#define FOUR(N, A, B, C, D) RECORD(N, { A a; B b; C c; D d; }, \
    (x.a = (A)s, x.b = (B)(s + 1), x.c = (C)(s + 2), x.d = (D)(s + 3)), \
    (double)x.a + 2 * (double)x.b + 3 * (double)x.c + 4 * (double)x.d)
#define ARRAY(N, A, L) RECORD(N, { A a[L]; }, for (int k = 0; k < L; k++) x.a[k] = (A)(s + k), total_array_##N(x))

#define TOTAL(N, A, L) typedef struct N N; struct N; static double total_array_##N(N x);
#define TOTAL_BODY(N, L) static double total_array_##N(N x) \
    { double t = 0; for (int k = 0; k < L; k++) t += (k + 1) * (double)x.a[k]; return t; }

ONE(c1, char) ONE(h1, short) ONE(i1, int) ONE(l1, long) ONE(f1, float) ONE(d1, double) ONE(q1, long double)
TWO(cc, char, char) TWO(ci, char, int) TWO(if_, int, float) TWO(ff, float, float) TWO(fi, float, int)
TWO(di, double, int) TWO(id, int, double) TWO(ld, long, double) TWO(dl, double, long) TWO(dd, double, double)
TWO(df, double, float) TWO(fd, float, double) TWO(ll, long, long) TWO(hf, short, float) TWO(ql, long double, long)
THREE(fff, float, float, float) THREE(ccc, char, char, char) THREE(ddd, double, double, double)
THREE(ifd, int, float, double) THREE(lcd, long, char, double) THREE(ffd, float, float, double)
THREE(ffi, float, float, int) THREE(hhh, short, short, short) THREE(dcc, double, char, char)
FOUR(ffff, float, float, float, float) FOUR(cccc, char, char, char, char) FOUR(cfcf, char, float, char, float)
FOUR(dddd, double, double, double, double) FOUR(hcif, short, char, int, float)
TOTAL(a5, char, 5) TOTAL(f3, float, 3) TOTAL(d2, double, 2) TOTAL(i7, int, 7) TOTAL(c40, char, 40) TOTAL(d9, double, 9)
ARRAY(a5, char, 5) ARRAY(f3, float, 3) ARRAY(d2, double, 2) ARRAY(i7, int, 7) ARRAY(c40, char, 40) ARRAY(d9, double, 9)
TOTAL_BODY(a5, 5) TOTAL_BODY(f3, 3) TOTAL_BODY(d2, 2) TOTAL_BODY(i7, 7) TOTAL_BODY(c40, 40) TOTAL_BODY(d9, 9)
RECORD(nested, { struct { char a; float b; } p; double c; }, (x.p.a = (char)s, x.p.b = (float)(s + 1), x.c = s + 2),
       x.p.a + 2 * x.p.b + 3 * x.c)
RECORD(grid, { float m[2][2]; int n; }, (x.m[0][0] = (float)s, x.m[1][1] = (float)(s + 1), x.n = (int)s + 2),
       x.m[0][0] + 2 * x.m[1][1] + 3 * x.n)
RECORD(zz, { float _Complex a; float _Complex b; }, (x.a = (float)s + 1.0f * I, x.b = 2), creal(x.a) + 2 * cimag(x.a) + creal(x.b))
RECORD(tagged, { int tag; union { double d; int i; } v; }, (x.tag = 1, x.v.d = s), x.tag ? x.v.d : x.v.i)
RECORD(tagfloat, { float tag; union { float f; int i; } v; }, (x.tag = 1, x.v.f = (float)s), x.tag ? x.v.f : x.v.i)

/* Unions themselves. */
#define UNION(N, MEMBERS, FIRST, T) \
    typedef union N MEMBERS N; N make_##N(double s); double sum_##N(N x); N id_##N(N x); \
    N make_##N(double s) { N x; memset(&x, 0, sizeof x); x.FIRST = (T)s; return x; } \
    double sum_##N(N x) { return (double)x.FIRST; } N id_##N(N x) { return x; }
UNION(u_if, { int i; float f; }, f, float) UNION(u_f, { float f; float g; }, f, float)
UNION(u_dl, { double d; long l; }, d, double) UNION(u_dd, { double d; double e; }, d, double)
UNION(u_c3, { char c[3]; char d; }, d, char) UNION(u_c12, { char c[12]; int i; }, i, int)
UNION(u_f4, { float f[4]; double d[2]; }, d[1], double) UNION(u_big, { char c[40]; double d; }, d, double)
UNION(u_ci, { struct { float a; float b; } p; struct { float a; int b; } q; }, q.b, int)

/* ---- memory ---- */
double dot(const double *x, const double *y, int n);
double dot(const double *x, const double *y, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}
double trace(int m, int n, const double *a);
double trace(int m, int n, const double *a)
{
    double s = 0;
    for (int i = 0; i < m && i < n; i++)
        s += a[i * n + i];
    return s;
}
void conjugate(int n, double (*z)[2]);
void conjugate(int n, double (*z)[2])
{
    for (int i = 0; i < n; i++)
        z[i][1] = -z[i][1];
}
long checksum(const void *p, size_t bytes);
long checksum(const void *p, size_t bytes)
{
    long s = 0;
    for (size_t i = 0; i < bytes; i++)
        s = s * 31 + ((const unsigned char *)p)[i];
    return s;
}
void fill(void *p, int byte, size_t bytes);
void fill(void *p, int byte, size_t bytes) { memset(p, byte, bytes); }

/* ---- texts ---- */
size_t length(const char *s);
size_t length(const char *s) { return strlen(s); }
const char *greeting(int which);
const char *greeting(int which) { return which == 0 ? "hello" : which == 1 ? "\xc3\xa9t\xc3\xa9" : which == 2 ? "\xff\xfe" : NULL; }
int count_texts(const char *const *texts);
int count_texts(const char *const *texts)
{
    int n = 0;
    while (texts[n])
        n++;
    return n;
}
char *join(char **texts, char *out);
char *join(char **texts, char *out)
{
    char *at = out;
    for (; *texts; texts++) {
        (*texts)[0] = 'X';
        at = stpcpy(at, *texts);
    }
    return out;
}
void skip(const char **at, int n);
void skip(const char **at, int n) { if (*at) *at += n; }
void find(const char *text, char c, const char **at);
void find(const char *text, char c, const char **at) { *at = strchr(text, c); }

/* ---- callbacks and functions as values ---- */
double apply(double (*f)(double), double x);
double apply(double (*f)(double), double x) { return f(x); }
double square(double x);
double square(double x) { return x * x; }
int same(double (*f)(double));
int same(double (*f)(double)) { return f == square; }
double (*choose(int which))(double);
double (*choose(int which))(double) { return which ? square : NULL; }

/* ---- any number of arguments: kinds is a letter for each ---- */
double vary(const char *kinds, ...);
double vary(const char *kinds, ...)
{
    double s = 0;
    va_list args;
    va_start(args, kinds);
    for (int k = 1; *kinds; kinds++, k++)
        switch (*kinds) {
        case 'i': s += k * va_arg(args, int); break;
        case 'l': s += k * (double)va_arg(args, long); break;
        case 'd': s += k * va_arg(args, double); break;
        case 's': s += k * (double)strlen(va_arg(args, const char *)); break;
        case 'p': s += k * (va_arg(args, void *) != NULL); break;
        case 'v': { double *x = va_arg(args, double *); s += k * x[0]; x[0] = 7; break; }
        case 'S': { dd x = va_arg(args, dd); s += k * sum_dd(x); break; }
        case 'z': s += k * creal(va_arg(args, double _Complex)); break;
        default: abort();
        }
    va_end(args);
    return s;
}

/* ---- everything at once ---- */
double twenty(double a, int b, float c, long d, double e, char f, double g, short h, double i, double j, float k,
              double l, unsigned char m, double n, unsigned o, double p, double q, int r, double s, double t);
double twenty(double a, int b, float c, long d, double e, char f, double g, short h, double i, double j, float k,
              double l, unsigned char m, double n, unsigned o, double p, double q, int r, double s, double t)
{
    return a + 2 * b + 3 * c + 4 * (double)d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
           13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t;
}
