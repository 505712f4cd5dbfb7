/* Files mapped into memory for reading. A mapped file that another program truncates makes the
 * processor raise SIGBUS where its lost pages are read: the handler here covers only the mappings
 * made here, puts zeros over the hole so that the reading instruction can end, and sets the
 * interrupt flag; the next poll raises ERR_IO (mapping_check). It must not know of tensors. */
#ifndef RICCI_CORE_MAPPING_H
#define RICCI_CORE_MAPPING_H

#include "core/base/ctx.h"

/* The first `bytes` of an open file, read-only; NULL if it cannot be mapped (the caller
 * then reads it). The file may be closed. name is copied: it is for the error. */
char *mapping_open(Ctx *, int fd, size_t bytes, const char *name);
void mapping_close(Ctx *, char *data);
/* Bytes of this context's mappings. They are the file's pages, which the system may drop
 * at any time, so they are no part of Ctx.mem.live. */
size_t mapping_bytes(const Ctx *);
/* Raises ERR_IO if lost data were read since the last check. The hole is opened again, so
 * that reading it again is again an error. */
void mapping_check(Ctx *);
/* For handlers of SIGBUS: puts zeros there if the address lies in a lost part of a mapping. */
bool mapping_fault(void *address);

#endif
