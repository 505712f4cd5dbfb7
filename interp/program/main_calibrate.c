/* `ricci --calibrate`: measures what products cost on this machine, shows it, and keeps it where
 * every later run finds it. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "kernels/pair/rates.h"

#include <errno.h>

static void measure(App *app, const char *name)
{
    Interp *in = app->in;
    Calibration c = { .memory = 0 };
    char path[3200], line[128];
    (void)name;
    bool done = calibration_measure(&in->ctx, &c);
    poll_interrupt(in);
    if (!done)
        return;
    for (int i = 0; i < calibration_row_count; i++) {
        const CalibrationRow *row = &calibration_rows[i];
        double x = *(const double *)(const void *)((const char *)&c + row->offset);
        c_snprintf(line, sizeof line, "%-36s %8.3g\n", row->what, x / row->unit);
        buf_puts(&in->out, line);
    }
    if (!calibration_keep(&c, path, sizeof path))
        err_raise(&in->ctx, ERR_IO, "cannot keep what was measured%s%s: %s", *path ? " in " : "",
                  path, c_strerror(errno));
    buf_puts(&in->out, "kept in ");
    buf_puts(&in->out, path);
    buf_putc(&in->out, '\n');
}

void calibrate(App *app)
{
    app_guarded(app, measure, "ricci --calibrate");
}
