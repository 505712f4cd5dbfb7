/* What a plan says of itself: the steps behind `explain` and `einsum_path`. Planners fill
 * it; only the interpreter prints it. Labels in texts are the user's own where given. */
#ifndef RICCI_KERNELS_REPORT_H
#define RICCI_KERNELS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

enum { REPORT_STEPS = 48, REPORT_TEXT = 200 };

typedef struct ReportStep {
    char what[REPORT_TEXT];      /* `T1[i,k] = A[i,j] B[j,k]`, `relu(T1[i,k] + c[k])` */
    /* dot, gemv, gemm, batched gemm, outer product, loop nest, copy … */
    char kind[48];
    char kernel[REPORT_TEXT];    /* `dgemm of OpenBLAS, B transposed, 100 × (100×100 by 100×100)` */
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
    double naive_flops;          /* of the one nest over all indices */
    double search_seconds;       /* spent on finding the order */
} Report;

/* The next step to fill in, zeroed; when all are in use a spare one that counts as `more`. */
ReportStep *report_add(Report *);

#endif
