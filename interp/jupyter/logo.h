/* Ricci's sign for Jupyter's menus: a letter with two indices. */
#ifndef RICCI_INTERP_JUPYTER_LOGO_H
#define RICCI_INTERP_JUPYTER_LOGO_H

#include "core/base/buf.h"

void logo_svg(Buf *);
void logo_png(Buf *);                    /* 64 × 64 pixels */

#endif
