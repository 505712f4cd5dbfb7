/* The process between the session and the launcher: `ricci --mpi-run LAUNCHER ARGUMENT…`. */
#ifndef RICCI_KERNELS_MPI_KEEPER_H
#define RICCI_KERNELS_MPI_KEEPER_H

/* argv[0] is the launcher. Standard input is a pipe of which the session has the other end. Returns
 * the launcher's exit status, 128 and the signal that ended it. */
int keeper_main(char **argv);

#endif
