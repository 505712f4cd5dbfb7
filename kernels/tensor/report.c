/* Steps of a plan's description. */
#include "kernels/tensor/report.h"

#include <stdio.h>
#include <string.h>

ReportStep *report_add(Report *r)
{
    if (r->steps < REPORT_STEPS) {
        ReportStep *s = &r->step[r->steps++];
        memset(s, 0, sizeof *s);
        return s;
    }
    r->more++;
    return &r->step[REPORT_STEPS - 1];
}

const char *report_kernel_text(char *out, size_t cap, const ReportKernel *k)
{
    snprintf(out, cap, "%s%s%s%s%s%s%s", k->numbers, k->numbers[0] ? ": " : "", k->before,
             k->before[0] ? "; " : "", k->by, k->by[0] && k->how[0] ? ", " : "", k->how);
    return out;
}
