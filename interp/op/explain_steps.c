/* The steps of a contraction's or nest's plan under `explain`. */
#include "interp/op/heard.h"

#include "core/base/buf.h"
#include "core/system/c_locale.h"
#include "interp/output/output.h"

#include <stdio.h>
#include <string.h>

static void bytes_text(char *out, size_t cap, double bytes)
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    c_snprintf(out, cap, "%.3g %s", bytes, units[unit]);
}

static const char *flops_text(char *out, size_t cap, double flops)
{
    c_snprintf(out, cap, flops < 1e6 ? "%.0f FLOPs" : "%.3g FLOPs", flops);
    return out;
}

/* The formula of a step, and below it what runs it. */
static void note_step(Interp *in, const ReportStep *s, const char *label)
{
    char more[200] = "", text[64], kernel[2 * REPORT_TEXT];
    size_t n = 0;
    if (s->temporary > 0) {
        bytes_text(text, sizeof text, s->temporary);
        n += (size_t)snprintf(more + n, sizeof more - n, ", temporary of %s", text);
    }
    if (s->copied > 0) {
        bytes_text(text, sizeof text, s->copied);
        n += (size_t)snprintf(more + n, sizeof more - n, ", %s copied", text);
    }
    if (in->show.width > 0 && s->seconds > 0)
        snprintf(more + n, sizeof more - n, ", about %s",
                 seconds_text(text, sizeof text, s->seconds));
    report_kernel_text(kernel, sizeof kernel, &s->kernel);
    explain_note(in, label, "%s\n            %s%s%s%s", s->what, s->kind, kernel[0] ? ": " : "",
                 kernel, more);
}

/* `gemm (OpenBLAS)`, of the step with the most work. */
static void name_kernel(Interp *in, const Report *r)
{
    const ReportStep *most = &r->step[0];
    for (int i = 1; i < r->steps; i++)
        most = r->step[i].flops > most->flops ? &r->step[i] : most;
    if (r->steps == 0)
        return;
    heard_kernel(in, most->kind, most->kernel.by);
}

void explain_steps(Interp *in, const Report *r)
{
    double flops = 0, copied = 0;
    explain_pause(in);
    char label[24] = "step", how[96] = "", text[48];
    if (r->attention[0])
        explain_note(in, "attention", "%s", r->attention);
    for (int i = 0; i < r->steps; i++) {
        const ReportStep *s = &r->step[i];
        if (r->steps > 1)
            snprintf(label, sizeof label, "step %d", i + 1);
        if (explain_on(in))
            note_step(in, s, label);
        flops += s->flops;
        copied += s->copied;
    }
    if (r->more)
        explain_note(in, "…", "and %d more steps", r->more);
    if (r->naive_flops > 1.05 * flops)
        snprintf(how, sizeof how, "%s in one nest over all indices",
                 flops_text(text, sizeof text, r->naive_flops));
    name_kernel(in, r);
    explain_flops(in, flops, how[0] ? how : NULL);
    explain_resume(in);
    explain_copied(in, copied);
}
