/* Bytes that work needs: see memory.h. */
#include "interp/measure/memory.h"
#include "interp/device/place.h"

void memory_begin(Interp *in, MemoryMark *m)
{
    MemAccount *mem = &in->ctx.mem;
    int i = 0;
    *m = (MemoryMark){ .live = mem->live };
    m->peak[i++] = mem->peak;
    mem->peak = mem->live;
    for (Device *d = in->ctx.devices->first; d && i < MEMORY_DEVICES; d = d->next) {
        m->peak[i++] = d->peak;
        d->peak = d->live;
        m->live += d->live;
    }
}

size_t memory_end(Interp *in, const MemoryMark *m)
{
    MemAccount *mem = &in->ctx.mem;
    int i = 0;
    size_t most = mem->peak;
    mem->peak = mem->peak > m->peak[i] ? mem->peak : m->peak[i];
    i++;
    for (Device *d = in->ctx.devices->first; d && i < MEMORY_DEVICES; d = d->next, i++) {
        most += d->peak;
        d->peak = d->peak > m->peak[i] ? d->peak : m->peak[i];
    }
    return most > m->live ? most - m->live : 0;
}
