/* Tridiagonal forms (symmetric.h): who makes which step. */
#include "kernels/condensed/symmetric.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/team.h"
#include "kernels/tensor/cpu.h"

#include <string.h>

static const SymmetricKernels *kernels(BlasType t)
{
#if defined(__x86_64__) || defined(__i386__)
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX512)
        return &symmetric_avx512[t];
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX2)
        return &symmetric_avx2[t];
#else
    (void)t;
#endif
    return NULL;
}

bool symmetric_own(BlasType t, int64_t n)
{
    enum { LEAST = 32 };
    return n >= LEAST && kernels(t);
}

int64_t symmetric_held(BlasType t, int64_t n)
{
    int64_t cached = (int64_t)(t == BLAS_S ? 64 : 24) << 20;     /* bytes, measured */
    return n * n * (int64_t)blas_bytes(t) > cached ? SYMMETRIC_MOST : 1;
}

double symmetric_largest(BlasType t, int64_t n, const void *a) { return kernels(t)->top(n, a); }

/* ---- steps on the pool ---- */
typedef struct Form {
    const SymmetricKernels *f;
    Symmetric *s;
    bool rows;                   /* the passage is over */
} Form;

static void block(void *data, int64_t i, int worker)
{
    const Form *form = data;
    (void)worker;
    (form->rows ? form->f->rows : form->f->block)(form->s, i);
}

static int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

static void lead(Team *team)
{
    Form *form = team->data;
    Symmetric *s = form->s;
    for (s->k = s->n - 1; s->k >= 0 && !*team->ctx->interrupt; s->k--) {
        if (!form->f->column(s))
            continue;
        form->rows = false;
        team_share(team, parts(s->k, SYMMETRIC_BLOCK));
        form->rows = true;
        team_share(team, parts(s->k, SYMMETRIC_ROWS));
        form->f->hold(s);
    }
}

void symmetric_form(Ctx *ctx, BlasType t, int64_t n, int64_t held, void *a, void *d, void *e,
                    void *tau, Scratch *w)
{
    enum { SHARED = 700 };       /* below this order one is as fast where the other has work */
    size_t bytes = blas_bytes(t), un = (size_t)n, terms = 2 * (size_t)held;
    Symmetric s = { .n = n, .most = held, .a = a, .d = d, .e = e, .tau = tau };
    s.left = scratch_take(w, un * (terms + 2), bytes);
    s.right = scratch_take(w, un * terms, bytes);
    s.products = scratch_take(w, terms, bytes);
    s.product = scratch_take(w, un, bytes);
    s.parts = scratch_take(w, un * (size_t)parts(n, SYMMETRIC_BLOCK), bytes);
    s.pivot = scratch_take(w, un + 1, bytes);
    if (!w->base)
        return;
    Form form = { kernels(t), &s, false };
    Team team = { .ctx = ctx, .data = &form, .block = block, .lead = lead };
    memset(s.left, 0, un * (terms + 2) * bytes);     /* rows that a vector reads beyond the last */
    team_run(&team, n < SHARED);
    blas_stop_by(ctx);
    blas_stop_poll();
}
