/* Names that every program finds defined as values rather than operations: constants,
 * precision formats and devices. A program may define its own variable of the name. */
#include "interp/state/format.h"
#include "interp/state/wing.h"
#include "interp/state/predefined.h"

#include <math.h>
#include <string.h>

static const struct { const char *name; double value; } constants[] = {
    { "pi", 3.14159265358979323846 },
    { "π", 3.14159265358979323846 },
    { "inf", INFINITY },
    { "nan", NAN },
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

/* gpu, cuda, opencl and mpi are names until a device is needed; sim is the family of simulated
 * ones. */
static const char *const devices[] = { "cpu", "gpu", "cuda", "opencl", "mpi", "sim" };
enum { DEVICES = sizeof devices / sizeof *devices };

bool predefined_is_constant(const char *name)
{
    for (int i = 0; i < CONSTANTS; i++)
        if (strcmp(name, constants[i].name) == 0)
            return true;
    return false;
}

Value predefined_find(Interp *in, const char *name)
{
    for (int i = 0; i < CONSTANTS; i++)
        if (strcmp(name, constants[i].name) == 0)
            return v_float(constants[i].value);
    for (int i = 0; i < DEVICES; i++)
        if (strcmp(name, devices[i]) == 0)
            return v_device(device_named(&in->ctx, name));
    DType dt = dtype_find(name, strlen(name));
    if (dt != DT_NONE)
        return v_format(dt);
    Value v = v_undef();
    for (const Wing *const *w = in->wings; w && *w && v.tag == V_UNDEF; w++)
        if ((*w)->predefined)
            v = (*w)->predefined(in, name);
    return v;
}

const char *predefined_name(int i)
{
    if (i < CONSTANTS)
        return constants[i].name;
    i -= CONSTANTS;
    if (i < DEVICES)
        return devices[i];
    i -= DEVICES;
    return i == 0 ? "null" : format_name(i - 1);
}
