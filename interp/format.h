/* What a format or a device is as a value: `f32`, `bf16`, `cpu`. A format names an
 * arithmetic; those here are the storage dtypes, one each, so two equal formats are one
 * pointer. Later formats (float(e,p), mp(bits)) have dtype DT_NONE and their own fields. */
#ifndef RICCI_INTERP_FORMAT_H
#define RICCI_INTERP_FORMAT_H

#include "interp/value.h"

struct Format {
    const char *name;
    DType dtype;
};

struct Device {
    const char *name;     /* "cpu" */
};

extern const Format format_table[DT_COUNT];    /* by DType */
extern const Device device_cpu;

/* The format of a name (`f32`), or NULL. Names of programs resolve to these. */
const Format *format_named(const char *text, size_t len);
static inline Value v_dtype_format(DType dt) { return v_format(&format_table[dt]); }

#endif
