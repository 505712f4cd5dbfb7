/* Products of float and complex matrices as contractions (matmul.h). Plans are kept under what
 * they depend on, so that a loop of products of one layout plans once. */
#include "builtins/linalg/matmul.h"

#include "builtins/linalg/linalg.h"
#include "builtins/linalg/plan_cache.h"
#include "interp/op/op.h"

#include <string.h>

enum { KEY_BATCH = 4, KEY_WORDS = 9 + 3 * KEY_BATCH };

static const OpState cache_kind = { sizeof(PlanCache), plan_cache_clear };

typedef struct Product {
    DType dt;
    int64_t m, n, k;
    const MatmulSide *a, *b;
    const GemmBatch *batch;
} Product;

/* What a plan depends on; 0 words: more axes than are kept. */
static int make_key(const Product *p, int64_t *key)
{
    int r = p->batch->rank, n = 0;
    if (r > KEY_BATCH)
        return 0;
    key[n++] = (int64_t)p->dt | (int64_t)p->a->t->dtype << 8 | (int64_t)p->b->t->dtype << 16 |
               (int64_t)r << 24;
    const int64_t fixed[] = { p->m, p->n, p->k, p->a->rs, p->a->cs, p->b->rs, p->b->cs };
    memcpy(key + n, fixed, sizeof fixed);
    n += 7;
    for (int d = 0; d < r; d++) {
        key[n++] = p->batch->extent[d];
        key[n++] = p->batch->a[d];
        key[n++] = p->batch->b[d];
    }
    return n;
}

/* Labels: the leading axes, then rows, columns and what is summed. */
enum { ROW, COLUMN, SUM };

static ContractOperand operand_of(const Product *p, const MatmulSide *s, const int64_t *steps,
                                  int row, int column)
{
    int r = p->batch->rank;
    ContractOperand x;
    memset(&x, 0, sizeof x);
    x.stored = s->t->dtype == p->dt ? 0 : (uint8_t)s->t->dtype;
    memcpy(x.stride, steps, (size_t)r * sizeof *steps);
    x.stride[r + row] = s->rs;
    x.stride[r + column] = s->cs;
    x.labels = ((UINT64_C(1) << r) - 1) | UINT64_C(1) << (r + row) | UINT64_C(1) << (r + column);
    return x;
}

static ContractPlan *make_plan(Ctx *ctx, const Product *p)
{
    int r = p->batch->rank;
    ContractOperand operand[2] = { operand_of(p, p->a, p->batch->a, ROW, SUM),
                                   operand_of(p, p->b, p->batch->b, SUM, COLUMN) };
    Contraction x;
    memset(&x, 0, sizeof x);
    x.dtype = p->dt;
    x.semiring = SR_PLUS_TIMES;
    x.labels = r + 3;
    x.operands = 2;
    x.operand = operand;
    memcpy(x.extent, p->batch->extent, (size_t)r * sizeof *x.extent);
    memcpy(x.out_stride, p->batch->c, (size_t)r * sizeof *x.out_stride);
    x.extent[r + ROW] = p->m, x.extent[r + COLUMN] = p->n, x.extent[r + SUM] = p->k;
    x.out_stride[r + ROW] = p->n, x.out_stride[r + COLUMN] = 1;
    x.out = (UINT64_C(1) << (r + SUM)) - 1;
    return contract_plan(ctx, &x, NULL);
}

static void explain_plan(OpCall *c, const Product *p, const ContractPlan *plan)
{
    Interp *in = c->in;
    Report report = { 0 };
    explain_pause(in);
    char text[2 * REPORT_TEXT];
    const char *name = p->m == 1 || p->n == 1 ? "gemv" : "gemm";
    contract_report(plan, "result", &report);
    const ReportStep *step = &report.step[0];
    if (step->blas)
        linalg_explain_routines(c, blas_type(p->dt), name, name);
    else
        explain_routine(in, step->kind, step->kernel.by, "%s: %s", step->kind,
                        report_kernel_text(text, sizeof text, &step->kernel));
    if (p->batch->count > 1)
        explain_note(in, "batch", "%lld products of %lld×%lld and %lld×%lld",
                     (long long)p->batch->count, (long long)p->m, (long long)p->k, (long long)p->k,
                     (long long)p->n);
    explain_resume(in);
}

void matmul_run(OpCall *c, DType dt, int64_t m, int64_t n, int64_t k, const MatmulSide *a,
                const MatmulSide *b, const GemmBatch *batch, Tensor *out, const GemmPanels *panels)
{
    Interp *in = c->in;
    Product p = { dt, m, n, k, a, b, batch };
    int64_t key[KEY_WORDS];
    int words = make_key(&p, key);
    PlanCache *cache = op_state(in, &cache_kind);
    KeptPlan *kept = plan_cache_find(cache, key, words);
    if (!kept) {
        kept = plan_cache_place(&in->ctx, cache);
        plan_cache_keep(kept, make_plan(&in->ctx, &p), key, words);
    }
    if (heard_on(in) && !heard_plan(in, &kept->heard)) {
        explain_plan(c, &p, kept->plan);
        heard_plan_keep(in, &kept->heard);
    }
    const void *data[] = { a->t->data, b->t->data };
    if (panels)
        contract_run_panels(&in->ctx, kept->plan, out->data, data, n ? out->size / n : 0, n,
                            panels);
    else
        contract_run(&in->ctx, kept->plan, out->data, data);
}
