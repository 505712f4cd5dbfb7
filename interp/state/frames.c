/* The running calls: whose code runs in a frame, and in which module. */
#include "interp/state/frames.h"

#include <string.h>

Source *frame_source(Interp *in, const CallFrame *f)
{
    if (!f)
        return in->module && in->module->source ? in->module->source : NULL;
    return f->fn ? f->fn->chunk->source : f->source;
}

bool source_is_stdlib(const Source *source)
{
    return source && strncmp(source->name, "<stdlib:", 8) == 0;
}

Module *interp_module(Interp *in)
{
    for (CallFrame *f = in->calls; f; f = f->up)
        if (f->fn)
            return f->fn->module;
        else if (f->module)
            return f->module;
    return in->module ? in->module : in->main;
}
