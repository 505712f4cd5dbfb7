/* Help on operations, functions and topics: `?svd`, help(f), `ricci doc NAME`. The texts
 * come from the registry's rows; builtins/help.c writes them. */
#ifndef RICCI_BUILTINS_HELP_H
#define RICCI_BUILTINS_HELP_H

#include "interp/op.h"

/* Help on a name (operation, operator, function of the program, topic), on an empty one
 * an overview. What is unknown gets did-you-mean and a search through all help lines. */
void help_show(Interp *, Buf *, const char *name);
/* False if help_show has nothing under exactly this name. */
bool help_known(Interp *, const char *name);
void help_value(Interp *, Buf *, Value);       /* of an operation, function or string */
/* The reference of all operations as Markdown. */
void help_manual(Interp *, Buf *);

#endif
