/* Rooms, rows and scalars of the textbook algorithms, and what is made of them alone: loading,
 * storing, products, norms. See textbook.h; the algorithms are in textbook_*.c. */
#include "kernels/textbook/textbook_number.h"

#include "kernels/rational/rational.h"

#include <math.h>

/* ---- status ---- */

bool text_stop(Textbook *t)
{
    if (t->status == ARITH_OK && *t->f->ctx->interrupt)
        t->status = ARITH_INTERRUPT;
    if (t->status == ARITH_OK && (dtype_cells(t->f->carrier) || dtype_cells(t->acc->carrier)))
        rational_collect(t->f->ctx);
    return t->status != ARITH_OK;
}

void text_fail(Textbook *t, ArithStatus status, int64_t at)
{
    if (t->status == ARITH_OK) {
        t->status = status;
        t->at = at;
    }
}

/* ---- rooms ---- */

static int side(const Textbook *t, const Arith *a)
{
    return a != t->f;
}

/* Of flat numbers the carriers are bytes. */
static void *room_new(Textbook *t, const Arith *a, int64_t count)
{
    return t->take(t->owner, a->carrier, count * a->size / dtype_info(a->carrier)->bytes);
}

static void room_grow(Textbook *t, Arith *a, int64_t count)
{
    TextRoom *r = &t->room[side(t, a)];
    int64_t size = r->count ? 2 * r->size[r->count - 1] : 1024;
    if (r->count == TEXT_CHUNKS) {
        text_fail(t, ARITH_MEMORY, 0);
        r->current = TEXT_CHUNKS - 1;
        r->used = 0;
        return;
    }
    if (size < count)
        size = count;
    r->chunk[r->count] = room_new(t, a, size);
    r->size[r->count] = size;
    r->current = r->count++;
    r->used = 0;
}

/* From the chunk at hand, a later one that is large enough, or a new one. */
char *text_take(Textbook *t, Arith *a, int64_t count)
{
    TextRoom *r = &t->room[side(t, a)];
    while (r->current < r->count && r->used + count > r->size[r->current]) {
        r->current++;
        r->used = 0;
    }
    if (r->current >= r->count)
        room_grow(t, a, count);
    char *at = r->chunk[r->current] + r->used * a->size;
    r->used += count;
    return at;
}

TextMark text_mark(const Textbook *t)
{
    return (TextMark){ { t->room[0].current, t->room[1].current },
                       { t->room[0].used, t->room[1].used } };
}

void text_release(Textbook *t, TextMark m)
{
    for (int k = 0; k < 2; k++) {
        t->room[k].current = m.current[k];
        t->room[k].used = m.used[k];
    }
}

void textbook_reset(Textbook *t)
{
    text_release(t, (TextMark){ { 0, 0 }, { 0, 0 } });
}

TextRow text_vector(Textbook *t, Arith *a, int64_t n)
{
    return (TextRow){ text_take(t, a, n), t->pairs ? text_take(t, a, n) : NULL, 1 };
}

/* Real where x is, whatever the book's numbers are. */
static TextRow vector_like(Textbook *t, Arith *a, TextRow x, int64_t n)
{
    return (TextRow){ text_take(t, a, n), x.im ? text_take(t, a, n) : NULL, 1 };
}

TextMat text_matrix(Textbook *t, Arith *a, int64_t rows, int64_t cols, bool by_columns)
{
    TextRow x = text_vector(t, a, rows * cols);
    return (TextMat){ x.re, x.im, rows, cols, by_columns ? 1 : cols, by_columns ? rows : 1 };
}

TextRow textbook_vector(Textbook *t, int64_t n)
{
    TextRow x = text_vector(t, t->f, n);
    text_fill(t->f, x, t->zero, t->zero, n);
    return x;
}

TextMat textbook_matrix(Textbook *t, int64_t rows, int64_t cols, bool by_columns)
{
    TextMat M = text_matrix(t, t->f, rows, cols, by_columns);
    text_fill(t->f, (TextRow){ M.re, M.im, 1 }, t->zero, t->zero, rows * cols);
    return M;
}

/* From 1 to the next number: 2^(1-p), 10^(1-d), by squaring: every step is exact. */
static void set_eps(Textbook *t)
{
    Arith *f = t->f;
    DType base = dtype_base(f->dtype);
    bool decimal = base == DT_DECIMAL;
    int64_t digits = base == DT_MP || decimal ? f->digits : f->carrier == DT_F64 ? f->p : 0;
    TextCell power;
    n_set(t, t->eps, digits ? t->one : t->zero);
    n_set(t, power.x, decimal ? n_div(t, t->one, n_const(t, 10)) : t->half);
    for (int64_t left = digits - 1; left > 0; left >>= 1) {
        if (left & 1)
            n_set(t, t->eps, n_mul(t, t->eps, power.x));
        if (left > 1)
            n_set(t, power.x, n_mul(t, power.x, power.x));
    }
}

void textbook_begin(Textbook *t, Arith *f, Arith *acc, bool pairs,
                    void *(*take)(void *owner, DType, int64_t), void *owner)
{
    ArithFlags flags = f->flags;
    uint64_t draw = f->draw;
    *t = (Textbook){ .f = f, .acc = acc, .pairs = pairs, .take = take, .owner = owner };
    t->ring = room_new(t, f, TEXT_RING + 5);
    char *fixed = t->ring + TEXT_RING * f->size;
    t->zero = fixed, t->one = fixed + f->size, t->half = fixed + 2 * f->size;
    t->two = fixed + 3 * f->size, t->eps = fixed + 4 * f->size;
    t->room[0].strip = room_new(t, f, 4 * (TEXT_STRIP + 1));
    if (acc != f)
        t->room[1].strip = room_new(t, acc, 4 * (TEXT_STRIP + 1));
    n_set(t, t->zero, n_const(t, 0));
    n_set(t, t->one, n_const(t, 1));
    n_set(t, t->half, n_const(t, 0.5));
    n_set(t, t->two, n_const(t, 2));
    set_eps(t);
    f->flags = flags;            /* constants are nobody's results */
    f->draw = draw;
}

/* ---- loading and storing ---- */

void textbook_load(Textbook *t, TextMat M, DType dt, const char *x, int64_t rs, int64_t cs)
{
    Arith *f = t->f;
    bool pairs = dtype_info(dt)->kind == 'c';
    DType part = dtype_part(dt);
    int64_t bytes = dtype_info(part)->bytes, per = pairs ? 2 : 1;
    RoundMode round = f->round;
    if (round == ROUND_STOCHASTIC)           /* operands are fixed numbers */
        f->round = ROUND_NEAREST;
    for (int64_t i = 0; i < M.rows && t->status == ARITH_OK; i++) {
        TextRow to = text_row(f, M, i, 0);
        const char *from = x + i * rs * per * bytes;
        t->status = f->ops->load(f, to.re, to.step, part, from, cs * per, M.cols);
        if (pairs && t->status == ARITH_OK)
            t->status = f->ops->load(f, to.im, to.step, part, from + bytes, cs * per, M.cols);
        else if (to.im)
            text_fill(f, (TextRow){ to.im, NULL, to.step }, t->zero, NULL, M.cols);
    }
    f->round = round;
}

void textbook_store(Textbook *t, char *to, int64_t rs, int64_t cs, TextMat M, bool pairs)
{
    Arith *f = t->f;
    DType part = pairs ? dtype_part(dtype_complex_of(f->dtype)) : f->dtype;
    int64_t bytes = dtype_info(part)->bytes, per = pairs ? 2 : 1;
    for (int64_t i = 0; i < M.rows && t->status == ARITH_OK; i++) {
        TextRow x = text_row(f, M, i, 0);
        char *at = to + i * rs * per * bytes;
        for (int64_t k = 0; k < per && t->status == ARITH_OK; k++) {
            const char *plane = k ? x.im : x.re, *from = plane ? plane : t->zero;
            TextRow row = text_real(from);
            row.step = plane ? x.step : 0;
            if (!pairs || part == f->dtype)
                t->status = f->ops->store(f, at + k * bytes, cs * per, from, row.step, M.cols);
            else                             /* of narrow formats: pairs of doubles, as carriers */
                text_copy(f, (TextRow){ at + k * bytes, NULL, cs * per }, row, M.cols);
        }
    }
}

/* ---- rows ---- */

static void copy_cells(int size, char *to, int64_t st, const char *x, int64_t sx, int64_t n)
{
    if (st == 1 && sx == 1) {
        memmove(to, x, (size_t)(n * size));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * st * size, x + i * sx * size, (size_t)size);
}

void text_copy(Arith *a, TextRow to, TextRow x, int64_t n)
{
    copy_cells(a->size, to.re, to.step, x.re, x.step, n);
    if (to.im)
        copy_cells(a->size, to.im, to.step, x.im, x.step, n);
}

void text_fill(Arith *a, TextRow to, const char *re, const char *im, int64_t n)
{
    copy_cells(a->size, to.re, to.step, re, 0, n);
    if (to.im)
        copy_cells(a->size, to.im, to.step, im, 0, n);
}

static void swap_cells(int size, char *x, int64_t sx, char *y, int64_t sy, int64_t n)
{
    char keep[sizeof(TextCell)];
    for (int64_t i = 0; i < n; i++, x += sx * size, y += sy * size) {
        memcpy(keep, x, (size_t)size);
        memcpy(x, y, (size_t)size);
        memcpy(y, keep, (size_t)size);
    }
}

void text_swap(Arith *a, TextRow x, TextRow y, int64_t n)
{
    swap_cells(a->size, x.re, x.step, y.re, y.step, n);
    if (x.im)
        swap_cells(a->size, x.im, x.step, y.im, y.step, n);
}

static void ew(Textbook *t, Arith *a, EwOp op, char *out, int64_t so, const char *x, int64_t sx,
               const char *y, int64_t sy, int64_t n)
{
    const void *in[3] = { x, y, NULL };
    const int64_t steps[3] = { sx, sy, 0 };
    if (t->status == ARITH_OK && n > 0)
        t->status = a->ops->ew(a, op, out, so, in, steps, n);
}

void text_add(Textbook *t, Arith *a, TextRow out, TextRow x, TextRow y, int64_t n)
{
    ew(t, a, EW_ADD, out.re, out.step, x.re, x.step, y.re, y.step, n);
    if (out.im)
        ew(t, a, EW_ADD, out.im, out.step, x.im, x.step, y.im, y.step, n);
}

void text_sub(Textbook *t, Arith *a, TextRow out, TextRow x, TextRow y, int64_t n)
{
    ew(t, a, EW_SUBTRACT, out.re, out.step, x.re, x.step, y.re, y.step, n);
    if (out.im)
        ew(t, a, EW_SUBTRACT, out.im, out.step, x.im, x.step, y.im, y.step, n);
}

void text_conj(Textbook *t, Arith *a, TextRow x, int64_t n)
{
    if (x.im)
        ew(t, a, EW_NEGATIVE, x.im, x.step, x.im, x.step, NULL, 0, n);
}

/* x y for n <= TEXT_STRIP complex numbers: re = xr yr - xi yi, im = xr yi + xi yr, in strips 0
 * and 1 from cell 1 on: cell 0 is left for a sum that goes on. conj: of x. */
static TextRow strip_product(Textbook *t, Arith *a, TextRow x, TextRow y, int64_t n, bool conj)
{
    int64_t size = a->size, each = (TEXT_STRIP + 1) * size;
    char *base = t->room[side(t, a)].strip;
    char *re = base + size, *im = re + each, *p = im + each;
    ew(t, a, EW_MULTIPLY, re, 1, x.re, x.step, y.re, y.step, n);
    ew(t, a, EW_MULTIPLY, p, 1, x.im, x.step, y.im, y.step, n);
    ew(t, a, conj ? EW_ADD : EW_SUBTRACT, re, 1, re, 1, p, 1, n);
    ew(t, a, EW_MULTIPLY, im, 1, x.re, x.step, y.im, y.step, n);
    ew(t, a, EW_MULTIPLY, p, 1, x.im, x.step, y.re, y.step, n);
    ew(t, a, conj ? EW_SUBTRACT : EW_ADD, im, 1, im, 1, p, 1, n);
    return (TextRow){ re, im, 1 };
}

static int64_t strip_length(int64_t left)
{
    return left < TEXT_STRIP ? left : TEXT_STRIP;
}

void text_mul(Textbook *t, Arith *a, TextRow out, TextRow x, TextRow y, int64_t n)
{
    if (!x.im && !y.im) {
        ew(t, a, EW_MULTIPLY, out.re, out.step, x.re, x.step, y.re, y.step, n);
        return;
    }
    if (!x.im || !y.im) {                    /* real times complex: two products */
        TextRow z = x.im ? x : y, r = x.im ? y : x;
        ew(t, a, EW_MULTIPLY, out.im, out.step, z.im, z.step, r.re, r.step, n);
        ew(t, a, EW_MULTIPLY, out.re, out.step, z.re, z.step, r.re, r.step, n);
        return;
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = strip_length(n - i);
        TextRow p = strip_product(t, a, text_from(a, x, i), text_from(a, y, i), k, false);
        text_copy(a, text_from(a, out, i), p, k);
    }
}

/* x / y = x conj(y) / (yr^2 + yi^2), number by number. */
static void divide_complex(Textbook *t, Arith *a, TextRow out, TextRow x, TextRow y)
{
    int64_t size = a->size, each = (TEXT_STRIP + 1) * size;
    TextRow p = strip_product(t, a, y, x, 1, true);
    char *d = p.im + each, *e = d + each;
    ew(t, a, EW_MULTIPLY, d, 1, y.re, 1, y.re, 1, 1);
    ew(t, a, EW_MULTIPLY, e, 1, y.im, 1, y.im, 1, 1);
    ew(t, a, EW_ADD, d, 1, d, 1, e, 1, 1);
    ew(t, a, EW_DIVIDE, out.re, 1, p.re, 1, d, 1, 1);
    ew(t, a, EW_DIVIDE, out.im, 1, p.im, 1, d, 1, 1);
}

void text_div(Textbook *t, Arith *a, TextRow out, TextRow x, TextRow y, int64_t n)
{
    if (y.im) {
        for (int64_t i = 0; i < n; i++)
            divide_complex(t, a, text_from(a, out, i), text_from(a, x, i), text_from(a, y, i));
        return;
    }
    if (x.im)
        ew(t, a, EW_DIVIDE, out.im, out.step, x.im, x.step, y.re, y.step, n);
    ew(t, a, EW_DIVIDE, out.re, out.step, x.re, x.step, y.re, y.step, n);
}

static void update(Textbook *t, Arith *a, TextRow y, TextRow s, TextRow x, int64_t n, bool subtract)
{
    if (t->status != ARITH_OK || n <= 0)
        return;
    if (!y.im) {
        t->status = a->ops->axpy(a, subtract ? EW_SUBTRACT : EW_ADD, y.re, y.step, s.re, x.re,
                                 x.step, n);
        return;
    }
    s.step = 0;
    for (int64_t i = 0, k; i < n; i += k) {
        k = strip_length(n - i);
        TextRow p = strip_product(t, a, s, text_from(a, x, i), k, false), to = text_from(a, y, i);
        (subtract ? text_sub : text_add)(t, a, to, to, p, k);
    }
}

void text_axpy(Textbook *t, Arith *a, TextRow y, TextRow s, TextRow x, int64_t n)
{
    update(t, a, y, s, x, n, false);
}

void text_axmy(Textbook *t, Arith *a, TextRow y, TextRow s, TextRow x, int64_t n)
{
    update(t, a, y, s, x, n, true);
}

void text_rotate(Textbook *t, TextRow x, TextRow y, const char *c, const char *s, int64_t n)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow p = vector_like(t, f, x, n), q = vector_like(t, f, x, n);
    TextRow cr = text_real(c), sr = text_real(s);
    text_mul(t, f, p, y, sr, n);
    text_mul(t, f, q, x, sr, n);
    text_mul(t, f, x, x, cr, n);
    text_mul(t, f, y, y, cr, n);
    text_sub(t, f, x, x, p, n);
    text_add(t, f, y, y, q, n);
    text_release(t, mark);
}

TextRow text_widen(Textbook *t, TextRow x, int64_t n)
{
    Arith *a = t->acc;
    if (a == t->f)
        return x;
    TextRow to = vector_like(t, a, x, n);
    if (t->status == ARITH_OK)
        t->status = a->ops->load(a, to.re, 1, t->f->carrier, x.re, x.step, n);
    if (t->status == ARITH_OK && x.im)
        t->status = a->ops->load(a, to.im, 1, t->f->carrier, x.im, x.step, n);
    return to;
}

void text_narrow(Textbook *t, TextRow to, TextRow x, int64_t n)
{
    Arith *f = t->f;
    if (to.re == x.re || n <= 0)             /* one arithmetic: the sums are in place */
        return;
    if (t->acc == f) {
        text_copy(f, to, x, n);
        return;
    }
    if (t->status == ARITH_OK)
        t->status = f->ops->load(f, to.re, to.step, t->acc->carrier, x.re, x.step, n);
    if (t->status == ARITH_OK && to.im)
        t->status = f->ops->load(f, to.im, to.step, t->acc->carrier, x.im, x.step, n);
}

/* Strip by strip: the sum so far stands before the products. */
static void dot_complex(Textbook *t, TextRow out, TextRow x, TextRow y, int64_t n)
{
    Arith *a = t->acc;
    char *re = t->room[side(t, a)].strip, *im = re + (TEXT_STRIP + 1) * a->size;
    for (int64_t i = 0, k; i < n && t->status == ARITH_OK; i += k) {
        k = strip_length(n - i);
        strip_product(t, a, text_from(a, x, i), text_from(a, y, i), k, true);
        int64_t first = i == 0;
        if (t->status == ARITH_OK)
            t->status = a->ops->sum(a, re, re + first * a->size, 1, k + 1 - first);
        if (t->status == ARITH_OK)
            t->status = a->ops->sum(a, im, im + first * a->size, 1, k + 1 - first);
    }
    text_narrow(t, out, (TextRow){ re, im, 1 }, 1);
}

void text_dot(Textbook *t, TextRow out, TextRow x, TextRow y, int64_t n)
{
    TextMark mark = text_mark(t);
    if (n == 0) {
        text_fill(t->f, out, t->zero, t->zero, 1);
        return;
    }
    bool same = x.re == y.re;
    x = text_widen(t, x, n);
    y = same ? x : text_widen(t, y, n);
    if (x.im) {
        dot_complex(t, out, x, y, n);
    } else if (t->status == ARITH_OK) {
        char *s = text_take(t, t->acc, 1);
        t->status = t->acc->ops->dot(t->acc, s, x.re, x.step, y.re, y.step, n);
        text_narrow(t, (TextRow){ out.re, NULL, 1 }, (TextRow){ s, NULL, 1 }, 1);
    }
    text_release(t, mark);
}

/* ---- scalars ---- */

char *text_ring(Textbook *t)
{
    return t->ring + t->next++ % TEXT_RING * (unsigned)t->f->size;
}

char *n_const(Textbook *t, double v)
{
    char *out = text_ring(t);
    if (t->status == ARITH_OK)
        t->status = t->f->ops->load(t->f, out, 1, DT_F64, &v, 1, 1);
    return out;
}

char *text_size(Textbook *t, TextRow x)
{
    char *re = n_abs(t, x.re);
    return x.im ? n_add(t, re, n_abs(t, x.im)) : re;
}

char *text_largest(Textbook *t, TextMat M)
{
    const Arith *f = t->f;
    char *most = text_take(t, t->f, 1);
    n_set(t, most, t->zero);
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = 0; j < M.cols && t->status == ARITH_OK; j++) {
            char *size = text_size(t, text_row(f, M, i, j));
            if (n_less(t, most, size))
                n_set(t, most, size);
        }
    return most;
}

/* ---- products and norms ---- */

void textbook_product(Textbook *t, TextMat C, TextMat A, TextMat B)
{
    Arith *a = t->acc;
    TextMark mark = text_mark(t);
    TextMat W = B;
    if (a != t->f) {
        W = text_matrix(t, a, B.rows, B.cols, false);
        for (int64_t k = 0; k < B.rows; k++) {
            TextMark row = text_mark(t);
            text_copy(a, text_row(a, W, k, 0), text_widen(t, text_row(t->f, B, k, 0), B.cols),
                      B.cols);
            text_release(t, row);
        }
    }
    for (int64_t i = 0; i < C.rows && !text_stop(t); i++) {
        TextMark row = text_mark(t);
        TextRow s = text_vector(t, a, C.cols), x = text_widen(t, text_row(t->f, A, i, 0), A.cols);
        if (A.cols == 0)
            text_fill(a, s, t->zero, t->zero, C.cols);
        for (int64_t k = 0; k < A.cols; k++) {
            TextRow by = text_from(a, x, k);
            by.step = 0;
            if (k == 0)
                text_mul(t, a, s, by, text_row(a, W, k, 0), C.cols);
            else
                text_axpy(t, a, s, by, text_row(a, W, k, 0), C.cols);
        }
        text_narrow(t, text_row(t->f, C, i, 0), s, C.cols);
        text_release(t, row);
    }
    text_release(t, mark);
}

/* 2^k with the most of x's numbers near 1; within what the format can hold both ways. */
static double power_near(const Arith *f, TextRow x, int64_t n)
{
    double most = 0, v;
    for (int part = 0; part < (x.im ? 2 : 1); part++)
        for (int64_t i = 0; i < n; i++) {
            memcpy(&v, text_cell(f, part ? x.im : x.re, i * x.step), sizeof v);
            most = fabs(v) > most ? fabs(v) : most;
        }
    int e = most > 0 && isfinite(most) ? ilogb(most) : 0;
    return ldexp(1, e > -f->emin ? -f->emin : e < f->emin ? f->emin : e);
}

char *text_scale(Textbook *t, TextMat M)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    double most = 0, terms = (double)(M.rows + M.cols);
    if (f->carrier != DT_F64)
        return NULL;
    memcpy(&most, text_largest(t, M), sizeof most);
    text_release(t, mark);
    bool large = most > sqrt(f->max / terms), small = most * most < ldexp(1, f->emin + f->p);
    if (!(most > 0) || !isfinite(most) || (!large && !small))
        return NULL;
    char *by = text_take(t, f, 1);
    n_set(t, by, n_const(t, power_near(f, (TextRow){ (char *)&most, NULL, 1 }, 1)));
    for (int64_t i = 0; i < M.rows; i++)
        text_div(t, f, text_row(f, M, i, 0), text_row(f, M, i, 0), text_real(by), M.cols);
    return by;
}

/* Did squares leave the range while their root would not? */
static bool left_range(const Textbook *t, const ArithFlags *before, const char *sum)
{
    double s;
    memcpy(&s, sum, sizeof s);
    return t->f->flags.overflow != before->overflow || !isfinite(s) ||
           (t->f->flags.underflow != before->underflow && s < ldexp(1, t->f->emin + t->f->p));
}

void textbook_norm2(Textbook *t, char *out, TextRow x, int64_t n)
{
    TextMark mark = text_mark(t);
    Arith *f = t->f;
    ArithFlags before = f->flags, accumulated = t->acc->flags;
    TextRow s = vector_like(t, f, x, 1);
    text_dot(t, s, x, x, n);
    if (f->carrier == DT_F64 && left_range(t, &before, s.re)) {
        char *by = n_const(t, power_near(f, x, n));
        TextRow y = vector_like(t, f, x, n);
        f->flags = before;
        if (t->acc != f)
            t->acc->flags = accumulated;
        text_div(t, f, y, x, text_real(by), n);
        text_dot(t, s, y, y, n);
        n_set(t, out, n_mul(t, n_sqrt(t, s.re), by));
    } else {
        n_set(t, out, n_sqrt(t, s.re));
    }
    text_release(t, mark);
}
