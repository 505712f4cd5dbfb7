/* A process of a group, from its first word to its last: `ricci --mpi-rank ADDRESS TOKEN`. */
#ifndef RICCI_KERNELS_MPI_RANK_H
#define RICCI_KERNELS_MPI_RANK_H

/* The exit status. */
int rank_main(const char *address, const char *token);

#endif
