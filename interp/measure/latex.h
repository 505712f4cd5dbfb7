/* Private to latex*.c: a formula being written. */
#ifndef RICCI_INTERP_LATEX_H
#define RICCI_INTERP_LATEX_H

#include "core/base/buf.h"
#include "interp/state/exec.h"

/* A sum that index notation leaves out: it stands before what `node` says. */
typedef struct LatexSum {
    struct LatexSum *next;
    const Node *node;
    const Name *name[64];
    int count;
    bool written;
} LatexSum;

typedef struct Latex {
    Lower *lo;
    Buf out;
    LatexSum *sums;
    const Node *misfit;         /* the first thing that is no formula */
    bool tight;                 /* in a subscript: no spaces */
    bool indexed;               /* names with subscripts are numbers: a product is a product */
} Latex;

void latex_put(Latex *, const Node *, int level);      /* in parentheses if it binds less */
void latex_paren(Latex *, const Node *);               /* in parentheses */
/* latex_names.c */
void latex_name(Latex *, const Name *);
void latex_call(Latex *, const Node *);                /* CALL, PIPE */

#endif
