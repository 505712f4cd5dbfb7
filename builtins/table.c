/* The rows of the registry, one const table made from the .def files. interp/op/registry.c finds
 * them. */
#include "builtins/attention/attention.h"
#include "builtins/devices/devices.h"
#include "builtins/mpi/grid.h"
#include "builtins/eight/eight_pair.h"
#include "builtins/einsum/einsum.h"
#include "builtins/formats/formats.h"
#include "builtins/exact/rational.h"
#include "builtins/linalg/linalg_pencil.h"
#include "builtins/linalg/matmul.h"
#include "builtins/quant/coded.h"
#include "builtins/rows/rows.h"
#include "builtins/rows/texts.h"
#include "builtins/special/special.h"
#include "builtins/sparse/sparse.h"
#include "builtins/written/written.h"

#include <stddef.h>

#define EW_ROW(id, name_, params_, kinds_, result_, cost_, real_, complex_, integer_, ...) \
    { .name = name_, .params = params_, .cls = OPC_EW, .ew = EW_##id, .dtypes = kinds_, \
      .section = "elementwise", .tried = true, .ulps = 1, .ulps_complex = 8, \
      .sparse = op_sparse_elementwise, __VA_ARGS__ },
#define AS(parts)               /* the kernels' (kernels/elementwise/ew.h) */
#define EW1 EW_ROW
#define EW2 EW_ROW
#define EW3 EW_ROW
#define OP(name_, ...) \
    { .name = #name_, .run = op_run_##name_, .section = SECTION, .devices = DEVICES, \
      .tried = TRIED, .sizes = SIZES, __VA_ARGS__ },

/* A row may name its own section, what devices make of it, and whether it may be tried; text and
 * files are the host's. */
/* A function in the language: what it calls moves to devices and is remembered for derivatives. */
#define WRITTEN .carries = true, .devices = DEV_ANYWHERE, .sparse = written_on_entries
#define DEV_ROUTINE(entry) offsetof(Device, math.entry)
#define DEVICES 0
#define SIZES SIZES_ELEMENTS
#define TRIED true
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const Op rows[] = {
#include "builtins/arrays/elementwise.def"
#define SECTION "elementwise"
#include "builtins/arrays/rounding.def"
#define SHELF 1
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#define SECTION "special functions"
#include "builtins/special/special.def"
#undef SECTION
#define SECTION "reductions"
#include "builtins/arrays/reductions.def"
#define SHELF 2
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#undef TRIED
#define TRIED false
#define SECTION "making"
#include "builtins/arrays/making.def"
#include "builtins/random/random.def"
#define SHELF 3
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#undef TRIED
#define TRIED true
#define SECTION "shape"
#include "builtins/arrays/shape.def"
#define SHELF 4
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#undef SIZES
#define SIZES SIZES_MATRIX
#define SECTION "linear algebra"
#include "builtins/linalg/linalg.def"
#include "builtins/written/linear.def"
#define SHELF 5
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#undef DEVICES
#define DEVICES DEV_HOST
#define SECTION "sparse matrices"
#include "builtins/sparse/sparse.def"
#include "builtins/written/krylov.def"
#undef SECTION
#undef DEVICES
#define DEVICES 0
#undef SIZES
#define SIZES SIZES_ELEMENTS
#undef TRIED
#define TRIED false
#define SECTION "gradients"
#include "builtins/gradients/gradients.def"
#undef SECTION
#define SECTION "precision"
#include "builtins/digits/digits.def"
#undef SECTION
#define SECTION "graphs"
#include "builtins/graphs/graphs.def"
#undef SECTION
#define SECTION "quantisation"
#include "builtins/quant/quant.def"
#undef SECTION
#define SECTION "signals"
#include "builtins/signals/signals.def"
#include "builtins/written/windows.def"
#define SHELF 6
#include "builtins/written/shelf.def"
#undef SHELF
#undef SECTION
#define SECTION "attention"
#include "builtins/attention/attention.def"
#undef SECTION
#undef DEVICES
#define DEVICES DEV_HOST
#define SECTION "files"
#include "builtins/files/files.def"
#undef SECTION
#define SECTION "pictures"
#include "builtins/pictures/pictures.def"
#undef SECTION
#define SECTION "system"
#include "builtins/system/system.def"
#undef SECTION
#define SECTION "precision"
#include "builtins/arrays/precision.def"
#undef SECTION
#define SECTION "devices"
#include "builtins/places/place.def"
#undef SECTION
#define SECTION "strings"
#include "builtins/strings/strings.def"
#undef SECTION
#ifndef RICCI_WITHOUT_NATIVE
#define SECTION "native code"
#include "builtins/system/native.def"
#undef SECTION
#endif
};
#pragma GCC diagnostic pop

const OpRows builtin_rows = { rows, sizeof rows / sizeof rows[0] };
