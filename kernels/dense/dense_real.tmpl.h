/* All kernels of dense_kernels.h in one real type. */
#include "kernels/gemm/small_turn.tmpl.h"
#include "kernels/dense/dense.tmpl.h"
#include "kernels/dense/dense_qr.tmpl.h"
#include "kernels/dense/hessenberg.tmpl.h"
