/* The loops of frexp.h. */
#include "kernels/cast/frexp.h"

#include <stdbool.h>
#include <string.h>
#include <tgmath.h>

enum { BLOCK = 512 };

#define T double
#define U uint64_t
#define FRACTION 52
#define BIAS 1023
#define NAME frexp_f64
#include "kernels/cast/frexp.tmpl.h"

#define T float
#define U uint32_t
#define FRACTION 23
#define BIAS 127
#define NAME frexp_f32
#include "kernels/cast/frexp.tmpl.h"
