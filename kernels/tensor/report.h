/* What a plan says of itself: the steps behind `explain` and `einsum_path`. Planners fill
 * it; only the interpreter prints it. Labels in texts are the user's own where given. */
#ifndef RICCI_KERNELS_REPORT_H
#define RICCI_KERNELS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_STEPS = 48, REPORT_TEXT = 200 };

/* What runs a step, as `numbers: before; by, how`; each may be "". */
typedef struct ReportKernel {
    char numbers[40];            /* `bf16 in, f32 sums` */
    char before[36];             /* `both operands summed first` */
    char by[36];                 /* whose it is: `OpenBLAS`, `own blocked kernel` */
    char how[REPORT_TEXT];       /* `B transposed, 100 × (100×100 by 100×100)` */
} ReportKernel;

typedef struct ReportStep {
    char what[REPORT_TEXT];      /* `T1[i,k] = A[i,j] B[j,k]`, `relu(T1[i,k] + c[k])` */
    /* dot, gemv, gemm, batched gemm, outer product, loop nest, copy … */
    char kind[48];
    ReportKernel kernel;
    /* a routine of the BLAS that is loaded, on the operands as they are */
    bool blas;
    double flops;
    double read, written, copied;/* bytes; copied: packed or cast on the way */
    double temporary;            /* bytes of the step's result where it is not the final one */
    double seconds;              /* estimated by the time model */
} ReportStep;

typedef struct Report {
    int steps;                   /* REPORT_STEPS at most; `more` were left out */
    int more;
    ReportStep step[REPORT_STEPS];
    char attention[REPORT_TEXT]; /* which way it ran, where the formula is one; "" */
    double naive_flops;          /* of the one nest over all indices */
    double search_seconds;       /* spent on finding the order */
} Report;

/* The next step to fill in, zeroed; when all are in use a spare one that counts as `more`. */
ReportStep *report_add(Report *);
/* Returns out, "" where nothing is known. */
const char *report_kernel_text(char *out, size_t cap, const ReportKernel *);

#endif
