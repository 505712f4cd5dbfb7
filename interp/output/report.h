/* How the text of an error or a notice looks on a terminal: colours, and lines that never wrap. */
#ifndef RICCI_INTERP_REPORT_H
#define RICCI_INTERP_REPORT_H

#include "core/base/buf.h"

/* Writes what err_render made for a terminal of `width` cells (0: lines stay as long as they are).
 * Source lines are cut around their carets, sentences go on in the next line; the words stay. */
void report_style(Buf *out, const char *text, int width, bool colour);
/* Cells of the terminal behind stderr; 0: it is none. */
int report_width(void);

#endif
