/* What is shown in several forms: a picture, a value, a table. Where the program around Ricci has
 * room for more than text (Host.display), it gets all forms at once and takes the best that it can
 * show; elsewhere the text is printed. Who has something to show asks display_wanted first, since
 * forms cost to make. */
#ifndef RICCI_INTERP_DISPLAY_H
#define RICCI_INTERP_DISPLAY_H

#include "interp/state/interp.h"

typedef enum DisplayForm {
    DISPLAY_TEXT, DISPLAY_LATEX, DISPLAY_SVG, DISPLAY_PNG, DISPLAY_HTML, DISPLAY_FORMS
} DisplayForm;

typedef struct Display {
    Buf form[DISPLAY_FORMS];         /* empty: there is none; the text always is */
    int width, height;               /* as the PNG is to be seen; it may have more pixels */
    bool result;                     /* the value of an entry */
} Display;

bool display_wanted(const Interp *);
void display_init(Display *, Interp *);
void display_free(Display *);
/* Hands it over, behind what was printed. Raises `io`. */
void display_put(Interp *, const Display *);
/* Runs make(in, display, task), which fills it, and hands it over; frees it whatever is raised. */
void display_make(Interp *, void (*make)(Interp *, Display *, void *task), void *task);

/* ---- HTML ---- */
void html_text(Buf *, const char *text);             /* escaped; line breaks stay */
/* <tr>; `tag` is th or td. Cells that are not left are aligned to the right. */
void html_row(Buf *, const char *tag, const char *const *cells, const bool *left, int n);

#endif
