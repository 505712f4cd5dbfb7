/* Building strings in run functions: a buffer that an error on the way cannot leak. */
#ifndef RICCI_BUILTINS_TEXT_H
#define RICCI_BUILTINS_TEXT_H

#include "builtins/rows/rows.h"

typedef void (*TextFn)(Interp *, Buf *, void *arg);
/* A new string with what fn puts into the buffer. */
Value text_build(Interp *, TextFn, void *arg);
/* s as numbers of characters: of the whole, and of the first `bytes` bytes. */
int64_t text_chars(const char *text, size_t bytes);
/* A tuple of the characters of s, as strings. */
Value text_characters(Interp *, const Str *);
bool text_contains(Interp *, const Str *s, const Str *part);
/* split of a string: the parts of argument 0 between occurrences of argument sep_at (not
 * given: words), at most as many cuts as argument most_at says. */
Value text_split(OpCall *, int sep_at, int most_at);
bool text_is_space(uint32_t c);
/* Argument 0 in capital or small letters. */
Value text_case(OpCall *, bool up);

#endif
