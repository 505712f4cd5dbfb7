/* TEMPLATE for each of the four dtypes of sparse matrices: T is the type, FN(name) its functions'
 * names, COMPLEX is defined where it is one. */
#define T float
#define FN(name) f32_##name
#include TEMPLATE
#define T double
#define FN(name) f64_##name
#include TEMPLATE
#define T float _Complex
#define COMPLEX
#define FN(name) c64_##name
#include TEMPLATE
#define T double _Complex
#define COMPLEX
#define FN(name) c128_##name
#include TEMPLATE
#undef TEMPLATE
