/* What the files behind printing share: decimal digits of floats, the layout of tensors,
 * quoted strings. Callers outside interp/show*.c, format.c and repl.c need only the
 * show_* functions of interp.h and show_set_digits. */
#ifndef RICCI_INTERP_SHOW_H
#define RICCI_INTERP_SHOW_H

#include "interp/interp.h"

enum { SHOW_WIDTH = 80 };        /* cells of a line when the output is no terminal */

/* ---- decimals (show_float.c) ---- */
typedef enum DecimalKind { DECIMAL_FINITE, DECIMAL_INF, DECIMAL_NAN } DecimalKind;

/* A number as 0.d1d2…dn × 10^point; zero has count 0. */
typedef struct Decimal {
    DecimalKind kind;
    bool negative;
    int count, point;
    char digits[24];
} Decimal;

#define DECIMAL_TEXT_MAX 48

/* The shortest decimal that reads back as x in format dt (and the closest of those). */
void decimal_shortest(Decimal *, double x, DType dt);
/* The same, or x correctly rounded to `digits` significant ones (1 … 17) if that is shorter. */
void decimal_rounded(Decimal *, double x, DType dt, int digits);
/* Text with a point or an exponent: fixed notation where 10^low <= |x| < 10^high
 * (high <= 17), an exponent elsewhere. Returns the length; out holds DECIMAL_TEXT_MAX. */
int decimal_text(char *out, const Decimal *, int low, int high);
/* The same with at most `digits` significant digits, the integer part always in full: how
 * an element of a tensor prints. See show_tensor.c for the rule. */
int decimal_element_text(char *out, double x, DType dt, int digits);

/* The floating dtype of the parts of dt: f32 for c64, f64 for c128, else dt. */
static inline DType show_part(DType dt) { return dtype_real(dt); }

/* ---- decimal, mp, interval (show_number.c) ---- */
bool show_is_number(DType);              /* is dt one of them? */
/* As an element of a tensor prints: at most `digits` digits; an interval's bounds outwards. */
void show_number_element(Buf *, DType, const void *cell, int digits);
/* Reads back where a cast to dt stands around it; what is not plain holds that cast itself. */
void show_number_repr(Buf *, DType, const void *cell);
bool show_number_plain(Buf *scratch, DType, const void *cell);
/* |x| of a finite decimal or mp number by a format spec: type 0 e E f F g G n %, precision -1 where
 * none is written. Returns the digits before the point. */
typedef struct NumberSpec { char type; int precision; bool alternate; } NumberSpec;
size_t show_number_magnitude(Buf *, DType, const void *cell, const NumberSpec *);

/* One element in full: ints, bools, shortest floats, complex numbers. */
void show_element(Buf *, DType, const void *element);
/* The text between the quotes of a literal that reads back, quotes included. */
void show_quoted(Buf *, const char *text, size_t len);

/* ---- tensors (show_tensor.c) ---- */
void show_tensor(Interp *, Buf *, const Tensor *);
/* `2×2 f32`, `vector of 3 i64`, `1×3 f64 covector`. */
void show_tensor_header(Buf *, const Tensor *);
/* Text that reads back to the same elements, shape and dtype. */
void show_tensor_repr(Interp *, Buf *, const Tensor *);
/* The same layout with each element written by `cell`: format specs on tensors. */
typedef void (*ShowCell)(void *arg, Buf *, DType, const void *element);
void show_tensor_cells(Interp *, Buf *, const Tensor *, ShowCell cell, void *arg);

/* ---- settings ---- */
/* format(digits=n): significant digits of floats inside tensors, 1 … 17. Raises ERR_VALUE. */
void show_set_digits(Interp *, int64_t digits);

#endif
