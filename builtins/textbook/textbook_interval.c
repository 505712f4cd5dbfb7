/* solve, inv and det of interval matrices: enclosures, verified by
 * kernels/textbook/textbook_interval.c, that contain the exact result for every choice of points in
 * the operands. */
#include "builtins/textbook/textbook.h"
#include "kernels/textbook/textbook_number.h"

#include "core/base/error.h"

#include <stdio.h>

static _Noreturn void not_enclosed(Book *b, const Stack *a)
{
    OpCall *c = b->c;
    char help[160];
    const char *name = arg_text(c, 0);
    snprintf(help, sizeof help, "det(%s) shows whether 0 is among the determinants", name);
    arg_error_help(c, a->arg, ERR_NUMERIC, help,
                   "no enclosure was found: %s holds a singular matrix, or one too near to "
                   "singular for f64", name);
}

static void note(Book *b, const char *what)
{
    if (heard_on(b->c->in))
        explain_routine(b->c->in, what, NULL, NULL);
}

Value book_interval_solve(OpCall *c, Scope *s)
{
    Book b;
    Rhs r;
    book_open(&b, c, s, 2, true);
    Stack a = book_square(&b, 0);
    linalg_rhs_layout(&r, &a, 1, book_operand(&b, 1));
    Out out = linalg_rhs_out(&r, &a, a.n);
    for (int64_t i = 0; i < r.count; i++) {
        textbook_reset(&b.t);
        poll_interrupt(c->in);
        TextMat A = book_load_at(&b, linalg_rhs_matrix(&r, &a, i), a.n, a.n, false);
        TextMat X = book_load_at(&b, linalg_rhs_item(&r, &a, i), a.n, r.cols, false);
        bool good = textbook_enclose(&b.t, A, X);
        book_check(&b, &a);
        if (!good)
            not_enclosed(&b, &a);
        textbook_store(&b.t, linalg_block(&out, i), 1, a.n, X, false);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, "an approximate inverse, verified by intervals (Rump)");
    return book_value(&b, &out);
}

Value book_interval_inv(OpCall *c, Scope *s)
{
    Book b;
    book_open(&b, c, s, 1, true);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), X = textbook_matrix(&b.t, a.n, a.n, false);
        for (int64_t k = 0; k < a.n; k++)
            n_set(&b.t, text_row(b.t.f, X, k, k).re, b.t.one);
        bool good = textbook_enclose(&b.t, A, X);
        book_check(&b, &a);
        if (!good)
            not_enclosed(&b, &a);
        book_store(&b, &out, i, X);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, "an approximate inverse, verified by intervals (Rump)");
    return book_value(&b, &out);
}

Value book_interval_det(OpCall *c, Scope *s)
{
    Book b;
    book_open(&b, c, s, 1, true);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, -1, -1);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false);
        TextRow d = textbook_vector(&b.t, 1);
        textbook_enclose_det(&b.t, A, d.re);
        book_store_row(&b, &out, i, d, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, a.n > 5 ? "factors of the middle, verified by intervals"
         : "expansion by minors in intervals");
    return book_value(&b, &out);
}
