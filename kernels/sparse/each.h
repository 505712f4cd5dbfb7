/* TEMPLATE for each of the four dtypes of sparse matrices: T is the type, FN(name) its functions'
 * names, COMPLEX is defined where it is one; TIMES(x, y) is the product, of complex numbers without
 * C's care for infinite parts, which takes ten times as long. */
#define TIMES(x, y) ((x) * (y))
#define T float
#define FN(name) f32_##name
#include TEMPLATE
#undef T
#undef FN
#define T double
#define FN(name) f64_##name
#include TEMPLATE
#undef T
#undef FN
#undef TIMES
#define COMPLEX
#define TIMES(x, y)                                                                            \
    __builtin_complex(__real__(x) * __real__(y) - __imag__(x) * __imag__(y),                   \
                      __real__(x) * __imag__(y) + __imag__(x) * __real__(y))
#define T float _Complex
#define FN(name) c64_##name
#include TEMPLATE
#undef T
#undef FN
#define T double _Complex
#define FN(name) c128_##name
#include TEMPLATE
#undef T
#undef FN
#undef TIMES
#undef COMPLEX
#undef TEMPLATE
