/* Things in several forms: see display.h. */
#include "interp/output/display.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"
#include "interp/output/output.h"

#include <errno.h>
#include <string.h>

bool display_wanted(const Interp *in)
{
    return in->host && in->host->display && !in->out_mute;
}

void display_init(Display *d, Interp *in)
{
    *d = (Display){ 0 };
    for (int i = 0; i < DISPLAY_FORMS; i++)
        buf_init(&d->form[i], &in->ctx);
}

void display_free(Display *d)
{
    for (int i = 0; i < DISPLAY_FORMS; i++)
        buf_free(&d->form[i]);
}

void display_put(Interp *in, const Display *d)
{
    if (!out_begins(in))
        return;
    out_flush(in);
    if (!in->host->display(in->host, d))
        err_raise(&in->ctx, ERR_IO, "cannot show it: %s", c_strerror(errno));
}

void display_make(Interp *in, void (*make)(Interp *, Display *, void *), void *task)
{
    ErrFrame frame;
    Display d;
    display_init(&d, in);
    if (!ERR_TRY(&in->ctx, &frame)) {
        display_free(&d);
        err_rethrow(&in->ctx);
    }
    make(in, &d, task);
    display_put(in, &d);
    ERR_END(&in->ctx, &frame);
    display_free(&d);
}

/* ---- HTML ---- */
void html_text(Buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '&': buf_puts(out, "&amp;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        default: buf_putc(out, *text);
        }
}

void html_row(Buf *out, const char *tag, const char *const *cells, const bool *left, int n)
{
    buf_puts(out, "<tr>");
    for (int i = 0; i < n; i++) {
        buf_printf(out, "<%s style=\"text-align: %s\">", tag, left[i] ? "left" : "right");
        html_text(out, cells[i]);
        buf_printf(out, "</%s>", tag);
    }
    buf_puts(out, "</tr>\n");
}
