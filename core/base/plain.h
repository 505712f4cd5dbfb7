/* Text from outside (paths, names and cells out of files, what a program threw) as messages show
 * it. What would steer a terminal, order a line anew or is no text shows as question marks: the
 * control characters, ESC first of all, the marks of direction, bytes that are no UTF-8. Messages
 * pass here when they are made or rendered (core/base/error.c, interp/output/output.c), so who
 * raises need not think of it; what is written past those does it itself. What a program prints is
 * its own affair. */
#ifndef RICCI_CORE_PLAIN_H
#define RICCI_CORE_PLAIN_H

#include "core/base/buf.h"

/* In place; both return the text. A name has no line breaks either: it could pretend to be a
 * message. */
char *plain_line(char *text);
char *plain_lines(char *text);           /* line breaks and tabs stay */
/* A message's words, made from this format: where the format has lines, or is nothing but a text
 * that was put together before, they stay. */
char *plain_message(char *text, const char *fmt);
void plain_put(Buf *, const char *text, size_t len);     /* as plain_line has it */

#endif
