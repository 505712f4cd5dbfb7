/* A value in the forms of interp/output/display.h: the prompt's echo, LaTeX where a page has room
 * for it, a table of devices. */
#include "interp/show/place_facts.h"
#include "interp/show/show.h"

#include "interp/output/display.h"

enum { LATEX_ROWS = 20, LATEX_COLUMNS = 10 };

/* Numbers that plain text does not do justice to, and tensors of a page's size. */
static bool has_latex(const Interp *in, Value v)
{
    if (v.tag != V_TENSOR || in->show.text_only)
        return false;
    const Tensor *t = v.tensor;
    const int64_t *n = tensor_shape(t);
    switch (t->rank) {
    case 0: return t->dtype == DT_RATIONAL || show_is_number((DType)t->dtype);
    case 1: return n[0] > 0 && n[0] <= LATEX_ROWS;
    case 2: return t->size > 0 && n[0] <= LATEX_ROWS && n[1] <= LATEX_COLUMNS;
    default: return false;
    }
}

void show_display(Interp *in, Display *d, Value v)
{
    show_echo(in, &d->form[DISPLAY_TEXT], v);
    if (has_latex(in, v)) {
        ShowOptions options = in->show;
        options.style = SHOW_LATEX;
        buf_puts(&d->form[DISPLAY_LATEX], "$\\displaystyle ");
        show_latex(in, &d->form[DISPLAY_LATEX], v, &options);
        buf_putc(&d->form[DISPLAY_LATEX], '$');
    }
    if (place_is_list(v))
        place_put_html(&d->form[DISPLAY_HTML], v.tuple->items, v.tuple->count);
}
