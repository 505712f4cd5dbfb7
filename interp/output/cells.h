/* Text in so many cells of a terminal: what tables at the prompt and in the help are made of. */
#ifndef RICCI_INTERP_CELLS_H
#define RICCI_INTERP_CELLS_H

#include "core/base/buf.h"

/* At most `cells` cells of a text, `…` at the end of a longer one; padded to `cells` where pad
 * is 'l' (text to the left) or 'r'. Newlines and other control characters become blanks. */
void cells_put(Buf *, const char *text, size_t len, int cells, char pad);

#endif
