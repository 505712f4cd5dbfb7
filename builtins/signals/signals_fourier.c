/* Fourier transforms in formats that no library transforms: rational, decimal, mp and interval, by
 * kernels/textbook/textbook_fft.c. Lanes go one after the other; see signals.h. */
#include "builtins/signals/signals.h"

#include "builtins/formats/formats.h"
#include "builtins/textbook/textbook.h"
#include "interp/op/heard.h"
#include "kernels/textbook/textbook_number.h"

#include <stdio.h>

struct Fourier {
    Book book;
    Arith wider;
    Arith *roots;               /* what roots of unity are computed in; NULL: they are exact */
};

/* More digits than the format has, for angles. */
static Arith *wider_arith(OpCall *c, Arith *a, DType format)
{
    DType base = dtype_base(format), dt = format;
    int digits = dtype_digits(format);
    if (base == DT_RATIONAL)
        return NULL;
    if (base == DT_MP)
        dt = dtype_mp(digits < MP_BITS_MAX - 64 ? digits + 64 : MP_BITS_MAX);
    if (base == DT_DECIMAL)
        dt = dtype_decimal(digits < DECIMAL_DIGITS_MAX - 20 ? digits + 20 : DECIMAL_DIGITS_MAX);
    ArithStatus s = arith_open(&c->in->ctx, a, dt, ROUND_NEAREST, false, false);
    precise_check(c->in, c->op, s, dt);
    return a;
}

static void require_roots(Fourier *f, int64_t n)
{
    OpCall *c = f->book.c;
    char help[160];
    if (f->roots || n == 1 || n == 2 || n == 4)
        return;
    snprintf(help, sizeof help, "precision mp(200) { %s(%s) } has 200 bits of it", c->op->name,
             arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "the roots of unity of order %lld are no fractions: %s of %s is not rational",
                   (long long)n, c->op->name, arg_text(c, 0));
}

Value signals_in_format(OpCall *c, Scope *s, FourierRow row)
{
    Fourier f;
    if (format_is_binary(s->format))
        return op_format_wide(c, s);
    signals_require_axis(c, 0, arg_tensor(c, 0));
    book_open_complex(&f.book, c, s);
    f.roots = wider_arith(c, &f.wider, s->format);
    Value r = row(c, &f);
    book_close(&f.book);
    return r;
}

Tensor *signals_fourier_operand(Fourier *f)
{
    return book_operand(&f->book, 0);
}

/* A spectrum of n / 2 + 1 numbers becomes one of n, whose transform is real. */
static void complete(Textbook *t, TextRow x, int64_t n)
{
    Arith *a = t->f;
    n_set(t, x.im, t->zero);
    if (n % 2 == 0)
        n_set(t, text_from(a, x, n / 2).im, t->zero);
    for (int64_t k = n / 2 + 1; k < n; k++) {
        TextRow to = text_from(a, x, k);
        text_copy(a, to, text_from(a, x, n - k), 1);
        text_conj(t, a, to, 1);
    }
}

Tensor *signals_fourier(Fourier *f, Tensor *x, const FourierAxis *how)
{
    Book *b = &f->book;
    OpCall *c = b->c;
    Textbook *t = &b->t;
    int64_t n = how->n, shape[TENSOR_RANK_MAX], read = tensor_shape(x)[how->axis];
    int64_t count = how->half ? n / 2 + 1 : n;
    require_roots(f, n);
    x = format_axes_last(c, x, UINT64_C(1) << how->axis);
    for (int a = 0; a < x->rank; a++)
        shape[a] = a == x->rank - 1 ? count : tensor_shape(x)[a];
    DType dt = how->real ? b->s->format : b->dt;
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, dt, x->rank, shape));
    TextMark mark = text_mark(t);
    TextFourier plan;
    textbook_fourier(t, &plan, n, f->roots);
    char *by = text_take(t, t->f, 1);
    n_set(t, by, n_const(t, (double)n));
    if (how->root)
        n_set(t, by, n_sqrt(t, by));
    TextRow in = text_vector(t, t->f, n), to = text_vector(t, t->f, n);
    int64_t from_bytes = dtype_info((DType)x->dtype)->bytes, bytes = dtype_info(dt)->bytes;
    for (int64_t i = 0; i < (count ? out->size / count : 0); i++) {
        poll_interrupt(c->in);
        text_fill(t->f, in, t->zero, t->zero, n);
        textbook_load(t, (TextMat){ in.re, in.im, 1, read, n, 1 }, (DType)x->dtype,
                      x->data + i * read * from_bytes, read, 1);
        if (how->real)
            complete(t, in, n);
        textbook_fft(t, &plan, to, in, how->inverse);
        if (how->divided)
            text_div(t, t->f, to, to, text_real(by), count);
        textbook_store(t, out->data + i * count * bytes, count, 1,
                       (TextMat){ to.re, to.im, 1, count, count, 1 }, !how->real);
        book_check(b, NULL);
    }
    text_release(t, mark);
    if (heard_on(c->in))
        explain_routine(c->in, "textbook FFT", NULL, "FFT by factors, every operation rounded to "
                        "%s: transforms of %lld points", dtype_name(b->s->format), (long long)n);
    return format_axis_back(c, out, how->axis);
}
