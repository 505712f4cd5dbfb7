/* The line that says what became of a test. Names are the user's: nothing in them steers a
 * terminal. */
#include "interp/output/verdict.h"

#include "core/base/mem.h"
#include "core/base/plain.h"
#include "core/system/c_locale.h"
#include "interp/output/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_word(char out[32], const char *word, const char *colour, bool colours)
{
    snprintf(out, 32, "%s%-4s%s ", colours ? colour : "", word, colours ? "\033[0m" : "");
}

void verdict_passed(Interp *in, const char *file, const char *name, double seconds, bool slow)
{
    char word[32], took[32];
    Buf line;
    buf_init(&line, &in->ctx);
    put_word(word, slow ? "slow" : "ok", "\033[32m", !slow && output_colours(STDOUT_FILENO));
    buf_printf(&line, "%s%s%s  %s", file ? file : "", file ? ": " : "", name,
               seconds_text(took, sizeof took, seconds));
    plain_lines(line.data);
    buf_putc(&line, '\n');
    out_write(in, word, strlen(word));
    out_write(in, line.data, line.len);
    buf_free(&line);
}

/* Of the C library's memory: an error waits to be reported, and none may take its place. NULL:
 * there is none. */
__attribute__((format(printf, 1, 2)))
static char *library_text(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = c_vasprintf(&text, fmt, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

void verdict_failed(Interp *in, const char *file, const char *name, const char *why)
{
    char word[32];
    put_word(word, "FAIL", "\033[1;31m", in->show.color);
    char *line = library_text("%s%s%s%s%s", word, file ? file : "", file ? ": " : "", name, why);
    if (line)
        plain_lines(line + strlen(word));
    err_write(in, line ? line : word);
    free(line);
}
