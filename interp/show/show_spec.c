/* Format specs: Python's mini-language, "{x:>10.3e}", for ints, floats, complex numbers, bools and
 * strings, and element by element on tensors.
 *
 *     [[fill]align][sign][z][#][0][width][_ or ,][.precision][type]
 *
 * Text is made at the end of the caller's buffer and widened there, so an error that
 * unwinds leaves nothing behind. Where Ricci prints differently from Python (true, 1e-5,
 * 2.0i) a spec without a type pads that text; a bool without one is text, too. */
#include "interp/show/show.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "kernels/number/number.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Spec {
    Ctx *ctx;
    const char *text;          /* as written, for messages */
    size_t len;
    const char *fill;          /* one character, default a space */
    size_t fill_bytes;
    char align;                /* < > = ^ or 0 */
    char sign;                 /* + - space, or 0: as - */
    bool no_negative_zero, alternate, zero;
    int64_t width;             /* 0: as wide as the text */
    char group;                /* , _ or 0 */
    int precision;             /* -1: not given */
    char type;                 /* 0: not given */
} Spec;

enum { SIZE_LIMIT = 1000000 };

static const char *const int_types = "d b o x X c n e E f F g G %";
static const char *const float_types = "e E f F g G n %";

/* ---- reading a spec ---- */
_Noreturn static void spec_error(const Spec *s, const char *help, const char *what)
{
    err_raise_help(s->ctx, ERR_VALUE, help, "format spec \"%.*s\": %s",
                   (int)(s->len < 40 ? s->len : 40), s->text, what);
}

static bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

static size_t read_align(Spec *s)
{
    size_t at = 0;
    if (s->len == 0)
        return 0;
    utf8_next(s->text, s->len, &at);
    if (at < s->len && is_align(s->text[at])) {
        s->fill = s->text;
        s->fill_bytes = at;
        s->align = s->text[at];
        return at + 1;
    }
    if (is_align(s->text[0])) {
        s->align = s->text[0];
        return 1;
    }
    return 0;
}

/* A number of at most SIZE_LIMIT; -1 if there is none. */
static int64_t read_number(const Spec *s, size_t *at, const char *part)
{
    int64_t n = -1;
    for (; *at < s->len && ascii_digit(s->text[*at]); ++*at) {
        n = (n < 0 ? 0 : n * 10) + (s->text[*at] - '0');
        if (n > SIZE_LIMIT) {
            char what[64];
            snprintf(what, sizeof what, "the %s is more than %d", part, SIZE_LIMIT);
            spec_error(s, NULL, what);
        }
    }
    return n;
}

static bool take(const Spec *s, size_t *at, char c)
{
    if (*at >= s->len || s->text[*at] != c)
        return false;
    ++*at;
    return true;
}

static void read_type(Spec *s, size_t at)
{
    if (at < s->len && (ascii_alpha(s->text[at]) || s->text[at] == '%'))
        s->type = s->text[at++];
    if (at < s->len) {
        char what[64];
        size_t end = at;
        utf8_next(s->text, s->len, &end);
        snprintf(what, sizeof what, "\"%.*s\" is not expected there", (int)(end - at),
                 s->text + at);
        spec_error(s, "a spec is [[fill]align][sign][#][0][width][,][.precision][type]", what);
    }
}

static Spec spec_read(Ctx *ctx, const char *text, size_t len)
{
    Spec s = { .ctx = ctx, .text = text, .len = len, .fill = " ", .fill_bytes = 1,
               .precision = -1 };
    size_t at = read_align(&s);
    if (at < len && strchr("+- ", text[at]) && text[at])
        s.sign = text[at++];
    s.no_negative_zero = take(&s, &at, 'z');
    s.alternate = take(&s, &at, '#');
    s.zero = take(&s, &at, '0');
    int64_t width = read_number(&s, &at, "width");
    s.width = width < 0 ? 0 : width;
    if (take(&s, &at, ','))
        s.group = ',';
    else if (take(&s, &at, '_'))
        s.group = '_';
    if (take(&s, &at, '.')) {
        s.precision = (int)read_number(&s, &at, "precision");
        if (s.precision < 0)
            spec_error(&s, NULL, "the precision after the point is missing");
    }
    read_type(&s, at);
    if (s.group && s.type == 'n')
        spec_error(&s, "write d or g", "separators do not go with 'n'");
    return s;
}

/* The 0 before a width: zeros between sign and digits, unless an alignment is written. */
static void spec_zero(Spec *s, bool number)
{
    if (!s->zero)
        return;
    if (s->fill_bytes == 1 && *s->fill == ' ')
        s->fill = "0";
    if (!s->align)
        s->align = number ? '=' : '<';
}

static bool zero_padded(const Spec *s)
{
    return s->align == '=' && s->fill_bytes == 1 && *s->fill == '0';
}

_Noreturn static void type_error(const Spec *s, const char *value, const char *types)
{
    char what[96], help[96];
    snprintf(what, sizeof what, "type '%c' does not go with %s", s->type, value);
    snprintf(help, sizeof help, "%s takes %s", value, types);
    spec_error(s, help, what);
}

/* ---- widening text at the end of a buffer ---- */
static char *open_gap(Buf *out, size_t at, size_t n)
{
    size_t rest = out->len - at;
    buf_fill(out, ' ', n);
    memmove(out->data + at + n, out->data + at, rest);
    return out->data + at;
}

static void put_fill(Buf *out, size_t at, const Spec *s, size_t count)
{
    char *p = open_gap(out, at, count * s->fill_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(p + i * s->fill_bytes, s->fill, s->fill_bytes);
}

static size_t characters(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t at = 0; at < n; count++)
        utf8_next(text, n, &at);
    return count;
}

/* Widens the text from `from` on; `lead` of its bytes are sign and prefix. */
static void pad(Buf *out, size_t from, size_t lead, const Spec *s, char align)
{
    size_t n = characters(out->data + from, out->len - from);
    if ((size_t)s->width <= n)
        return;
    size_t fill = (size_t)s->width - n;
    if (s->align)
        align = s->align;
    if (align == '=') {
        put_fill(out, from + lead, s, fill);
        return;
    }
    size_t before = align == '>' ? fill : align == '^' ? fill / 2 : 0;
    put_fill(out, from, s, before);
    put_fill(out, out->len, s, fill - before);
}

/* Groups the `n` digits at `at`, with zeros before them up to `least` characters. */
static void group_digits(Buf *out, size_t at, size_t n, size_t least, char mark, size_t size)
{
    size_t digits = n ? n : 1;
    while (digits + (digits - 1) / size < least)
        digits++;
    size_t marks = (digits - 1) / size, total = digits + marks;
    if (total == n)
        return;
    char *p = open_gap(out, at, total - n);
    const char *from = p + total - n;              /* the digits, moved to their end */
    for (size_t i = 0, zeros = digits - n; i < digits; i++) {
        *p++ = i < zeros ? '0' : *from++;
        if ((digits - 1 - i) % size == 0 && i + 1 < digits)
            *p++ = mark;
    }
}

/* A number whose text from `from` on has `lead` bytes of sign and prefix and then
 * `digits` digits of its integer part: groups and pads it. */
static void finish_number(Buf *out, size_t from, size_t lead, size_t digits, const Spec *s,
                          size_t group_size)
{
    if (s->group && digits > 0) {
        size_t other = out->len - from - digits, least = 0;
        if (zero_padded(s) && (size_t)s->width > other)
            least = (size_t)s->width - other;
        group_digits(out, from + lead, digits, least, s->group, group_size);
    }
    pad(out, from, lead, s, '>');
}

static void put_sign(Buf *out, const Spec *s, bool negative)
{
    if (negative)
        buf_putc(out, '-');
    else if (s->sign == '+' || s->sign == ' ')
        buf_putc(out, s->sign);
}

/* ---- strings ---- */
static void put_text(Buf *out, const char *text, size_t len, Spec *s, const char *value)
{
    if (s->type && s->type != 's')
        type_error(s, value, "s");
    if (s->align == '=' || s->group || s->sign || s->alternate)
        spec_error(s, NULL, s->align == '=' ? "'=' aligns numbers only"
                          : s->group ? "separators are for numbers"
                          : s->alternate ? "'#' is for numbers" : "signs are for numbers");
    spec_zero(s, false);
    size_t end = len;
    if (s->precision >= 0) {
        end = 0;
        for (int i = 0; i < s->precision && end < len; i++)
            utf8_next(text, len, &end);
    }
    size_t from = out->len;
    buf_put(out, text, end);
    pad(out, from, 0, s, '<');
}

/* ---- floats ---- */
/* snprintf's text of |x| at the end of out; returns how many digits it starts with. */
static size_t put_magnitude(Buf *out, const Spec *s, double x, int precision, char type)
{
    char fmt[16];
    snprintf(fmt, sizeof fmt, "%%%s.*%c", s->alternate ? "#" : "", type);
    int n = c_snprintf(NULL, 0, fmt, precision, x);
    buf_reserve(out, (size_t)n);
    c_snprintf(out->data + out->len, (size_t)n + 1, fmt, precision, x);
    size_t digits = 0;
    while (digits < (size_t)n && ascii_digit(out->data[out->len + digits]))
        digits++;
    out->len += (size_t)n;
    return digits;
}

/* No type: the shortest text in the value's own dtype, or with a precision that many
 * significant digits, with a point or an exponent as print has it (in C's form where
 * zeros are to be kept, or there are more digits than tell an f64 from its neighbours). */
static size_t put_plain(Buf *out, const Spec *s, double x, DType dt)
{
    char text[DECIMAL_TEXT_MAX];
    Decimal d;
    if (isfinite(x) && (s->precision > 17 || (s->precision >= 0 && s->alternate)))
        return put_magnitude(out, s, x, s->precision, 'g');
    if (s->precision < 0 || !isfinite(x)) {
        decimal_shortest(&d, x, dt);
        decimal_text(text, &d, -4, 16);
    } else {
        int precision = s->precision ? s->precision : 1;
        decimal_rounded(&d, x, DT_F64, precision);
        decimal_text(text, &d, -4, precision - 1);
    }
    buf_puts(out, text);
    return isfinite(x) ? strspn(text, "0123456789") : 0;
}

/* Rounds to zero as printed? Then `z` drops its sign. */
static bool prints_zero(const Buf *out, size_t from)
{
    for (size_t i = from; i < out->len && out->data[i] != 'e' && out->data[i] != 'E'; i++)
        if (out->data[i] >= '1' && out->data[i] <= '9')
            return false;
    return true;
}

/* A number as the specs see it; cell: of decimal or mp, whose digits no double has. */
typedef struct Real { double x; DType dtype; const void *cell; } Real;

static Real real_of(double x, DType dt) { return (Real){ x, dt, NULL }; }

static Real real_of_cell(DType dt, const void *cell)
{
    double x = number_is_nan(dt, cell) ? NAN : number_is_inf(dt, cell) ? INFINITY : 0;
    return (Real){ number_negative(dt, cell) ? -x : x, dt, isfinite(x) ? cell : NULL };
}

/* Sign and digits of one real number; *lead gets the bytes of its sign. Returns the
 * number of digits before the point. */
static size_t put_float(Buf *out, const Spec *s, Real r, size_t *lead)
{
    size_t from = out->len;
    double x = r.x;
    bool negative = signbit(x) && !isnan(x);
    char type = s->type == 'n' ? 'g' : s->type == '%' ? 'f' : s->type;
    put_sign(out, s, negative);
    *lead = out->len - from;
    if (s->type == '%')
        x *= 100;
    size_t digits;
    if (r.cell) {
        NumberSpec spec = { s->type, s->precision, s->alternate };
        digits = show_number_magnitude(out, r.dtype, r.cell, &spec);
    } else if (type && isfinite(x)) {
        digits = put_magnitude(out, s, fabs(x), s->precision < 0 ? 6 : s->precision, type);
    } else if (type) {
        buf_puts(out, isnan(x) ? ascii_is_upper(type) ? "NAN" : "nan" : ascii_is_upper(type)
                 ? "INF" : "inf");
        digits = 0;
    } else {
        digits = put_plain(out, s, fabs(x), r.dtype);
    }
    if (s->no_negative_zero && negative && digits && prints_zero(out, from)) {
        char *p = out->data + from;
        if (s->sign == '+' || s->sign == ' ') {
            *p = s->sign;
        } else {
            memmove(p, p + 1, out->len - from - 1);
            out->len--;
            *lead = 0;
        }
    }
    if (s->type == '%')
        buf_putc(out, '%');
    return digits;
}

static void put_real(Buf *out, Real r, Spec *s, const char *value)
{
    if (s->type && !strchr("eEfFgGn%", s->type))
        type_error(s, value, float_types);
    size_t lead, from = out->len;
    spec_zero(s, true);
    size_t digits = put_float(out, s, r, &lead);
    finish_number(out, from, lead, digits, s, 3);
}

static void put_complex(Buf *out, double _Complex z, DType dt, Spec *s)
{
    if (s->type && !strchr("eEfFgGn", s->type))
        type_error(s, "a complex number", "e E f F g G n");
    spec_zero(s, false);
    if (*s->fill == '0' || s->align == '=')
        spec_error(s, "give a fill and an alignment: \"{z:>12.2f}\"",
                   "zeros cannot pad a complex number");
    size_t lead, from = out->len;
    Spec part = *s;
    for (int i = 0; i < 2; i++) {
        size_t start = out->len;
        size_t digits = put_float(out, &part, real_of(i ? __imag__ z : __real__ z, dt), &lead);
        if (s->group && digits)
            group_digits(out, start + lead, digits, 0, s->group, 3);
        part.sign = '+';
    }
    buf_putc(out, 'i');
    pad(out, from, 0, s, '>');
}

/* ---- ints ---- */
static void put_char(Buf *out, int64_t i, Spec *s)
{
    if (s->sign || s->group || s->alternate)
        spec_error(s, NULL, "a character takes no sign, no '#' and no separators");
    if (i < 0 || i > 0x10ffff || (i >= 0xd800 && i < 0xe000)) {
        char what[64];
        snprintf(what, sizeof what, "%lld is no character", (long long)i);
        spec_error(s, "characters are 0 to 0x10ffff", what);
    }
    size_t from = out->len;
    buf_put_codepoint(out, (uint32_t)i);
    spec_zero(s, true);
    pad(out, from, 0, s, '<');
}

static void put_radix(Buf *out, uint64_t u, unsigned base, bool upper)
{
    char text[64], *p = text + sizeof text;
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    do
        *--p = digits[u % base];
    while (u /= base);
    buf_put(out, p, (size_t)(text + sizeof text - p));
}

static void put_int(Buf *out, int64_t i, Spec *s, const char *value)
{
    char type = s->type ? s->type : 'd';
    if (strchr("eEfFgG%", type)) {
        put_real(out, real_of((double)i, DT_F64), s, value);
        return;
    }
    if (!strchr("dboxXcn", type))
        type_error(s, value, int_types);
    if (s->precision >= 0)
        spec_error(s, "write a type for floats: \".2f\"", "a precision does not go with an int");
    if (type == 'c') {
        put_char(out, i, s);
        return;
    }
    unsigned base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
    if (s->group == ',' && base != 10)
        spec_error(s, "'_' separates groups of four", "',' separates decimal digits only");
    size_t from = out->len;
    spec_zero(s, true);
    put_sign(out, s, i < 0);
    if (s->alternate && base != 10)
        buf_printf(out, "0%c", type);
    size_t lead = out->len - from;
    put_radix(out, i < 0 ? -(uint64_t)i : (uint64_t)i, base, type == 'X');
    finish_number(out, from, lead, out->len - from - lead, s, base == 10 ? 3 : 4);
}

static void put_bool(Buf *out, bool b, Spec *s)
{
    if (s->type && s->type != 's')
        put_int(out, b, s, "a bool");
    else
        put_text(out, b ? "true" : "false", b ? 4 : 5, s, "a bool");
}

/* ---- rationals ---- */
/* `.3f` and `%` are exact: the fraction's own decimals, halves to even. */
static void put_fixed(Buf *out, Rational a, Spec *s)
{
    RationalStatus status = RATIONAL_OK;
    size_t from = out->len;
    spec_zero(s, true);
    put_sign(out, s, rational_sign(a) < 0);
    size_t lead = out->len - from;
    if (s->type == '%')
        status = rational_mul(out->ctx, &a, a, rational_int(100));
    if (status == RATIONAL_OK)
        status = rational_decimal(out, a, s->precision < 0 ? 6 : s->precision);
    if (status != RATIONAL_OK)
        rational_raise(out->ctx, status, "format");
    size_t digits = strspn(out->data + from + lead, "0123456789");
    if (s->type == '%')
        buf_putc(out, '%');
    finish_number(out, from, lead, digits, s, 3);
}

static void put_fraction(Buf *out, Rational a, Spec *s)
{
    Buf text;
    buf_init(&text, out->ctx);
    rational_text(&text, a);
    const char *digits = buf_cstr(&text) + (rational_sign(a) < 0);
    size_t from = out->len;
    spec_zero(s, true);
    put_sign(out, s, rational_sign(a) < 0);
    size_t lead = out->len - from;
    buf_puts(out, digits);
    finish_number(out, from, lead, strspn(digits, "0123456789"), s, 3);
    buf_free(&text);
}

static void put_rational(Buf *out, Rational a, Spec *s)
{
    int64_t i;
    if (s->type && strchr("fF%", s->type) && !s->no_negative_zero && !s->alternate)
        put_fixed(out, a, s);
    else if (s->type && strchr("dboxXcn", s->type) && rational_as_int(a, &i))
        put_int(out, i, s, "a rational");
    else if (s->type || s->precision >= 0)
        put_real(out, real_of(rational_f64(a), DT_F64), s, "a rational");
    else
        put_fraction(out, a, s);
}

/* ---- intervals ---- */
/* Both bounds, rounded outwards to the digits that show. */
static void put_interval(Buf *out, const Interval *v, Spec *s)
{
    const double bound[2] = { v->lo, v->hi };
    int mode = fegetround();
    if (s->type && !strchr("eEfFgGn%", s->type))
        type_error(s, "an interval", float_types);
    spec_zero(s, false);
    size_t lead, from = out->len;
    /* nothing raises in between */
    buf_reserve(out, 1000 + 2 * (size_t)(s->precision > 0 ? s->precision : 0));
    for (int i = 0; i < 2; i++) {
        buf_puts(out, i ? ", " : "[");
        /* of the magnitude */
        fesetround((i == 1) != (signbit(bound[i]) != 0) ? FE_UPWARD : FE_DOWNWARD);
        put_float(out, s, real_of(bound[i], DT_F64), &lead);
        fesetround(mode);
    }
    buf_putc(out, ']');
    pad(out, from, 0, s, '>');
}

/* ---- values ---- */
static void put_element(void *arg, Buf *out, DType dt, const void *element)
{
    Spec s = *(const Spec *)arg;
    switch (dtype_info(dt)->kind) {
    case 'b': put_bool(out, element_i64(dt, element) != 0, &s); break;
    case 'i': put_int(out, element_i64(dt, element), &s, "an int"); break;
    case 'f':
        if (dt == DT_INTERVAL)
            put_interval(out, element, &s);
        else
            put_real(out, show_is_number(dt) ? real_of_cell(dt, element)
                                             : real_of(element_f64(dt, element), dt), &s,
                     "a float");
        break;
    case 'q': put_rational(out, *(const Rational *)element, &s); break;
    default: put_complex(out, element_c128(dt, element), show_part(dt), &s); break;
    }
}

/* Anything else is its printed text, as a string. */
static void put_other(Interp *in, Buf *out, Value v, Spec *s)
{
    char type[64], what[128];
    snprintf(what, sizeof what, "the value is a %s", v_type_name(v));
    snprintf(type, sizeof type, "a %s", v_type_name(v));
    if (s->type && s->type != 's')
        type_error(s, type, "s");
    if (s->precision >= 0 || s->group || s->sign || s->alternate || s->align == '=')
        spec_error(s, "only fill, alignment and width go with it", what);
    size_t from = out->len;
    spec_zero(s, false);
    show_value(in, out, v);
    pad(out, from, 0, s, '<');
}

void format_value(Interp *in, Buf *out, Value v, const char *spec, size_t len)
{
    v = v_plain(v);
    if (len == 0) {
        show_value(in, out, v);
        return;
    }
    Spec s = spec_read(&in->ctx, spec, len);
    switch ((Tag)v.tag) {
    case V_BOOL: put_bool(out, v.i != 0, &s); break;
    case V_INT: put_int(out, v.i, &s, "an int"); break;
    case V_FLOAT: put_real(out, real_of(v.f, DT_F64), &s, "a float"); break;
    case V_STRING: put_text(out, v.str->text, v.str->len, &s, "a string"); break;
    case V_TENSOR: show_tensor_cells(in, out, v.tensor, put_element, &s); break;
    default: put_other(in, out, v, &s); break;
    }
}
