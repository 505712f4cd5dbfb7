/* Steps of a plan's description. */
#include "kernels/tensor/report.h"

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
