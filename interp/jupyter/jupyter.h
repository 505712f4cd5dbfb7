/* `ricci jupyter`: the kernel of notebooks, and the files that tell Jupyter of it. */
#ifndef RICCI_INTERP_JUPYTER_H
#define RICCI_INTERP_JUPYTER_H

#include "interp/session/repl.h"

/* Speaks to the clients of this connection file until one of them ends it, or the process that
 * started this one has ended. Raises `io` where the file or libzmq is missing. */
void jupyter_run(Interp *, const ReplHelp *, const char *connection_file);

/* Where Jupyter looks for kernels: the user's folder, the Python environment that is in force, or
 * PREFIX/share/jupyter. */
typedef enum JupyterPlace { JUPYTER_USER, JUPYTER_ENVIRONMENT, JUPYTER_PREFIX } JupyterPlace;
typedef struct JupyterSpec {
    JupyterPlace place;
    const char *prefix;              /* of JUPYTER_PREFIX */
    const char *name, *display;      /* "ricci", "Ricci" */
} JupyterSpec;

/* All three print what they did, and raise `io` or `value`. */
void jupyter_install(Interp *, const JupyterSpec *);
void jupyter_uninstall(Interp *, const JupyterSpec *);
void jupyter_list(Interp *);

#endif
