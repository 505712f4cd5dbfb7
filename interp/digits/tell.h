/* `explain as digits STATEMENT`, `explain as digits { … }`: see tell.c. */
#ifndef RICCI_INTERP_DIGITS_TELL_H
#define RICCI_INTERP_DIGITS_TELL_H

#include "interp/lower/lower.h"

const Exec *lower_digits(Lower *, const Node *);

#endif
