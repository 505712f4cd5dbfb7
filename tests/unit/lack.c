/* The sentences about what a device lacks: a clause speaks of the device only where that is its subject. */
#include "core/base/buf.h"
#include "interp/life.h"
#include "interp/state/interp.h"
#include "kernels/device/lack.h"
#include "tests/unit/check.h"

#include <string.h>

static void says(Interp *in, Lack lack, const char *words)
{
    Buf out;
    buf_init(&out, &in->ctx);
    lack_put(&out, &lack);
    CHECK(strcmp(buf_cstr(&out), words) == 0);
    buf_free(&out);
}

int main(void)
{
    Interp *in = interp_new();
    says(in, (Lack){ LACK_ROW, .row = "svd" }, ", which lacks svd");
    says(in, (Lack){ LACK_DTYPE, .dtype = DT_F64 }, ", which has no f64");
    says(in, (Lack){ LACK_FLOATS }, " because its kernel makes floats");
    says(in, (Lack){ LACK_EXACT }, " because it is computed exactly");
    says(in, (Lack){ LACK_ELSEWHERE }, " because it is made on another device");
    says(in, (Lack){ LACK_AXES }, " because its operand has too many axes");
    says(in, (Lack){ LACK_POINTS }, " because it goes over more elements than a kernel may");
    interp_free(in);
    return check_result();
}
