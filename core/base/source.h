/* A source text: its name, bytes, line table, and the rendering of spans as
 * `file:line:column`, the source line and carets under it (by display width, so that
 * wide and combining characters line up). Reference counted: code, functions and
 * errors keep their source alive. */
#ifndef RICCI_CORE_SOURCE_H
#define RICCI_CORE_SOURCE_H

#include "core/base/buf.h"

struct Source {
    uint32_t refs;
    Ctx *ctx;
    char *name;          /* path as given, or "<repl:3>", "<-e>" */
    char *text;          /* NUL-terminated; may hold NUL bytes before len */
    size_t len;
    uint32_t *lines;     /* byte offset of each line's start */
    uint32_t line_count;
    uint32_t first_line; /* number of its first line, 1 by default */
};

Source *source_new(Ctx *, const char *name, const char *text, size_t len);
/* Reads a whole file. Raises ERR_IO (missing, directory, unreadable). */
Source *source_read(Ctx *, const char *path);
Source *source_retain(Source *);
void source_release(Source *);

typedef struct Place { uint32_t line, column; } Place;   /* 1-based; column in characters */
Place source_place(const Source *, uint32_t offset);
/* Index in `lines` of the line that holds `offset`: its column would take as long as the line
 * is. */
uint32_t source_line(const Source *, uint32_t offset);
/* Display width in terminal cells of UTF-8 text (0 for combining, 2 for wide). */
int text_width(const char *text, size_t len);
/* Decodes one code point at *at (advances it); invalid bytes give U+FFFD and one byte. */
uint32_t utf8_next(const char *text, size_t len, size_t *at);
/* First byte that is not valid UTF-8, or len. */
size_t utf8_check(const char *text, size_t len);
/* Appends `  --> name:line:column`, the lines on which spans begin (all of a span over few) and
 * carets under every span. Long lines are cut around the carets with an ellipsis. */
void source_render(Buf *, const Source *, const Span *spans, int count);

#endif
