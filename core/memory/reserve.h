/* Address ranges that have no memory behind them until somebody needs it: what the host side of a
 * tensor is while its elements live on a device. Reading or writing such a range faults (small
 * ones: reads bytes that no program takes for data), so a copy that was forgotten shows itself. */
#ifndef RICCI_CORE_RESERVE_H
#define RICCI_CORE_RESERVE_H

#include "core/base/ctx.h"

/* Raises ERR_MEMORY where there is no room for the addresses. 64-byte aligned. */
char *reserve_open(Ctx *, size_t bytes);
/* Memory behind the range from now on: counted as other memory is, contents undefined. Raises
 * ERR_MEMORY. */
void reserve_commit(Ctx *, char *range, size_t bytes);
/* Gives the memory back; the addresses stay. */
void reserve_decommit(Ctx *, char *range, size_t bytes);
void reserve_close(Ctx *, char *range, size_t bytes, bool committed);

#endif
