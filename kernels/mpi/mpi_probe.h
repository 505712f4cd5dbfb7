/* Whether there is an MPI: DeviceBackend.probe. */
#ifndef RICCI_KERNELS_MPI_PROBE_H
#define RICCI_KERNELS_MPI_PROBE_H

#include "core/base/ctx.h"

void mpi_probe(Ctx *);

#endif
