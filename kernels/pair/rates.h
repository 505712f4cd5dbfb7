/* How fast this machine is at the parts of a product, measured by `ricci --calibrate` and kept in
 * the user's cache folder. Without it, or with a file that is broken, of another processor or of
 * another version, the planner takes what pair_rates has by itself. */
#ifndef RICCI_KERNELS_RATES_H
#define RICCI_KERNELS_RATES_H

#include "core/base/ctx.h"

#include <stddef.h>

typedef struct RealRates {
    double block;               /* FLOPs a second of the blocked product */
    double blas;                /* of the library's; 0: there is none */
    double unit, turned, gather;/* seconds per element packed: from rows, transposed, one by one */
    double windows;             /* seconds of a sum over windows, of those that were estimated */
} RealRates;

typedef struct Calibration {
    RealRates real[2];          /* f32, f64 */
    double memory;              /* bytes a second, read and written */
} Calibration;

/* What a calibration consists of: its key in the file, what a user reads and in which unit, and
 * between which numbers it can be. */
typedef struct CalibrationRow {
    const char *key, *what;
    double unit;
    size_t offset;
    double least, most;
} CalibrationRow;
extern const CalibrationRow calibration_rows[];
extern const int calibration_row_count;

/* Measures for about a second. False: interrupted. Raises `memory`. */
bool calibration_measure(Ctx *, Calibration *);
/* Keeps it whole or not at all. False with errno set; `path` is where it was to stand. */
bool calibration_keep(const Calibration *, char *path, size_t n);
/* What is kept for this machine, read at the first call, or NULL. RICCI_CALIBRATION=0: NULL. */
const Calibration *calibration_kept(void);

#endif
