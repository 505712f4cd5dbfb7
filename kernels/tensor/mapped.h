/* Tensors over mapped files. The mapping counts as an owner of its buffer, so nobody else
 * is ever the only one: the first write to such a tensor copies it, by the rule that holds
 * for every shared buffer, and nothing writes to the read-only pages. They are unmapped
 * when the last tensor goes. Made by the file readers. */
#ifndef RICCI_KERNELS_MAPPED_H
#define RICCI_KERNELS_MAPPED_H

#include "kernels/tensor/tensor.h"

enum { BUFFER_MAPPED = 1u << 30 };   /* Buffer.flags: one of its refs is the mapping's own */

/* The first `bytes` of an open file as a u8 vector; NULL if it cannot be mapped. name is
 * for the error that says the file was cut short. */
Tensor *tensor_map(Ctx *, int fd, size_t bytes, const char *name);

#endif
