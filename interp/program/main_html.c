/* `ricci doctest --html`: a Markdown document as one page that needs nothing else. Of Markdown it
 * knows headings, paragraphs, lists, tables, quotes, code, emphasis, links and images; all else is
 * text, and HTML in it too. Nothing is loaded from anywhere, and nothing in the page runs. */
#include "interp/program/main.h"

#include "core/system/ascii.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 8, INLINES = 12, LINK_MAX = 4096 };

typedef struct List { size_t indent; bool numbered; } List;

typedef struct Page {
    Text *out;
    const Markdown *md;
    const Pictures *pictures;
    const char *folder;                    /* of the document */
    Text words;                            /* of the paragraph that is being read */
    List lists[LISTS];
    int depth;                             /* of lists */
    bool tight, blank;                     /* the words follow a list's mark; a blank line came */
} Page;

typedef struct Slice { const char *at; size_t n; } Slice;

static const char head[] =
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<style>\n"
    "body { max-width: 50em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; }\n"
    "pre { padding: .6em .8em; overflow-x: auto; background: #f4f4f4; line-height: 1.3; }\n"
    "pre.text { margin-top: -1em; background: none; border-left: 3px solid #ccc; }\n"
    "pre.error { border-color: #c33; }\n"
    "table { border-collapse: collapse; }\n"
    "td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left; }\n"
    "img, svg { max-width: 100%; height: auto; }\n"
    "</style>\n";

/* ---- text ---- */
static void put_escaped(Text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        const char *name = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;"
                         : c == '"' ? "&quot;" : NULL;
        bool steers = (unsigned char)c < 0x20 && !strchr("\n\t", c);
        if (name)
            text_puts(out, name);
        else if (!steers)
            text_put(out, &c, 1);
    }
}

static bool begins(Slice s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && memcmp(s.at, word, n) == 0;
}

static Slice rest_of(Slice s, size_t n)
{
    return (Slice){ s.at + n, s.n - n };
}

static bool ends_in(Slice s, const char *ending)
{
    size_t n = strlen(ending);
    return s.n > n && memcmp(s.at + s.n - n, ending, n) == 0;
}

/* ---- pictures ---- */
static void put_base64(Text *out, const Text *bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = (const unsigned char *)bytes->data;
    for (size_t i = 0; i < bytes->len; i += 3) {
        size_t left = bytes->len - i;
        unsigned x = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) |
                     (left > 2 ? b[i + 2] : 0);
        char four[4] = { digits[x >> 18], digits[x >> 12 & 63],
                         left > 1 ? digits[x >> 6 & 63] : '=', left > 2 ? digits[x & 63] : '=' };
        text_put(out, four, 4);
    }
}

static bool word_in(Slice word, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == word.n && memcmp(*words, word.at, word.n) == 0)
            return true;
    return false;
}

/* Elements that draw, with attributes that say how; nothing that names, loads or runs anything. */
static bool tag_is_plain(Slice tag)
{
    static const char *const draw[] = { "svg", "g", "path", "text", "tspan", "rect", "line",
        "circle", "polyline", "polygon", NULL };
    static const char *const refused[] = { "href", "xlink:href", "style", "id", "class", "src",
        NULL };
    size_t i = tag.n > 0 && tag.at[0] == '/', from = i;
    while (i < tag.n && ascii_alnum(tag.at[i]))
        i++;
    if (!word_in((Slice){ tag.at + from, i - from }, draw) || memmem(tag.at, tag.n, "url(", 4))
        return false;
    while (i < tag.n) {
        size_t blank = i;
        while (i < tag.n && ascii_space(tag.at[i]))
            i++;
        if (i == tag.n || (tag.at[i] == '/' && i + 1 == tag.n))
            return true;
        Slice name = { tag.at + i, strcspn(tag.at + i, "=\"'<> ") };
        const char *quote = name.at + name.n + 1;
        size_t used = (size_t)(quote - tag.at);
        const char *end = used < tag.n && quote[-1] == '=' && *quote == '"'
                              ? memchr(quote + 1, '"', tag.n - used - 1) : NULL;
        if (blank == i || !end || begins(name, "on") || word_in(name, refused))
            return false;
        i = (size_t)(end + 1 - tag.at);
    }
    return true;
}

/* The drawing in an SVG file, if the page may hold it as it is; NULL: as an image then. */
static const char *plain_drawing(const Text *svg)
{
    const char *from = strstr(svg->data, "<svg");
    for (const char *at = from; at && (at = strchr(at, '<')) != NULL;) {
        size_t n = strcspn(at + 1, "<>");
        if (at[1 + n] != '>' || !tag_is_plain((Slice){ at + 1, n }))
            return NULL;
        at += n + 2;
    }
    return from && strlen(svg->data) == svg->len ? from : NULL;
}

static void put_picture(Text *out, Slice name, const Text *bytes, Slice words)
{
    bool svg = ends_in(name, ".svg");
    const char *drawing = svg ? plain_drawing(bytes) : NULL;
    if (drawing) {
        text_puts(out, drawing);
        return;
    }
    text_printf(out, "<img src=\"data:image/%s;base64,", svg ? "svg+xml" : "png");
    put_base64(out, bytes);
    text_puts(out, "\" alt=\"");
    put_escaped(out, words.at, words.n);
    text_puts(out, "\">");
}

/* One that a block made, or a file below the document's folder. */
static bool put_image(Page *p, Slice name, Slice words)
{
    Text path = { 0 }, bytes = { 0 };
    for (size_t i = 0; i < p->pictures->count; i++)
        if (strlen(p->pictures->items[i].name) == name.n &&
            memcmp(p->pictures->items[i].name, name.at, name.n) == 0) {
            put_picture(p->out, name, &p->pictures->items[i].bytes, words);
            return true;
        }
    text_printf(&path, "%s/%.*s", p->folder, (int)name.n, name.at);
    bool inside = (ends_in(name, ".svg") || ends_in(name, ".png")) && name.at[0] != '/' &&
                  !memmem(name.at, name.n, "..", 2) && !memchr(name.at, ':', name.n);
    bool there = inside && text_read(&bytes, path.data) && bytes.len > 0;
    if (there)
        put_picture(p->out, name, &bytes, words);
    text_free(&path);
    text_free(&bytes);
    return there;
}

/* What the blocks made and the document does not show by itself. */
static void put_made(Page *p, size_t block)
{
    for (size_t i = 0; i < p->pictures->count; i++) {
        const Picture *made = &p->pictures->items[i];
        Slice name = { made->name, strlen(made->name) };
        if (made->block != block || picture_linked(made, &p->md->text))
            continue;
        text_puts(p->out, "<p>");
        put_picture(p->out, name, &made->bytes, name);
        text_puts(p->out, "</p>\n");
    }
}

/* ---- within a line ---- */
static void put_inline(Page *, Slice, int depth);

static bool is_harmless(Slice url)
{
    size_t scheme = 0;
    while (scheme < url.n && !strchr(":/?#", url.at[scheme]))
        scheme++;
    return scheme == url.n || url.at[scheme] != ':' || begins(url, "https://") ||
           begins(url, "http://") || begins(url, "mailto:");
}

/* `[words](url)`, behind its `[`; how much it takes, 0: it is none. */
static size_t read_link(Slice s, Slice *words, Slice *url)
{
    size_t i = 0;
    for (int open = 1; i < s.n && i < LINK_MAX; i++) {
        open += (s.at[i] == '[') - (s.at[i] == ']');
        if (open == 0)
            break;
    }
    if (i + 1 >= s.n || s.at[i + 1] != '(')
        return 0;
    const char *from = s.at + i + 2, *close = memchr(from, ')', s.n - i - 2);
    if (!close)
        return 0;
    size_t n = (size_t)(close - from), blank = 0;
    while (blank < n && !ascii_space(from[blank]))
        blank++;
    *words = (Slice){ s.at, i };
    *url = (Slice){ from, blank };
    return i + 3 + n;
}

static size_t put_link(Page *p, Slice s, bool image, int depth)
{
    Slice words, url;
    size_t n = read_link(rest_of(s, image ? 2 : 1), &words, &url);
    if (n == 0 || (image && put_image(p, url, words)))
        return n ? n + (image ? 2 : 1) : 0;
    bool link = !image && is_harmless(url);
    if (link) {
        text_puts(p->out, "<a href=\"");
        put_escaped(p->out, url.at, url.n);
        text_puts(p->out, "\">");
    }
    put_inline(p, words, depth + 1);
    text_puts(p->out, link ? "</a>" : "");
    return n + (image ? 2 : 1);
}

static size_t put_code(Page *p, Slice s)
{
    size_t marks = 0, from, n = 0;
    while (marks < s.n && s.at[marks] == '`')
        marks++;
    for (from = marks; from + n < s.n; n++) {
        size_t run = 0;
        while (from + n + run < s.n && s.at[from + n + run] == '`')
            run++;
        if (run == marks) {
            text_puts(p->out, "<code>");
            put_escaped(p->out, s.at + from, n);
            text_puts(p->out, "</code>");
            return from + n + marks;
        }
        n += run ? run - 1 : 0;
    }
    put_escaped(p->out, s.at, marks);
    return marks;
}

/* `**words**` or `*words*`; 0: it is none. */
static size_t put_emphasis(Page *p, Slice s, int depth)
{
    bool strong = begins(s, "**");
    size_t marks = strong ? 2 : 1;
    const char *mark = strong ? "**" : "*";
    if (s.n <= 2 * marks || ascii_space(s.at[marks]))
        return 0;
    const char *end = memmem(s.at + marks, s.n - marks, mark, marks);
    if (!end || end == s.at + marks || ascii_space(end[-1]))
        return 0;
    text_puts(p->out, strong ? "<strong>" : "<em>");
    put_inline(p, (Slice){ s.at + marks, (size_t)(end - s.at) - marks }, depth + 1);
    text_puts(p->out, strong ? "</strong>" : "</em>");
    return (size_t)(end - s.at) + marks;
}

static void put_inline(Page *p, Slice s, int depth)
{
    for (size_t i = 0, used; i < s.n; i += used) {
        Slice here = rest_of(s, i);
        bool image = begins(here, "![");
        used = 0;
        if (here.at[0] == '\\' && here.n > 1 && strchr("\\`*_{}[]()#+-.!|<>", here.at[1])) {
            put_escaped(p->out, here.at + 1, 1);
            used = 2;
        } else if (here.at[0] == '`') {
            used = put_code(p, here);
        } else if ((image || here.at[0] == '[') && depth < INLINES) {
            used = put_link(p, here, image, depth);
        } else if (here.at[0] == '*' && depth < INLINES) {
            used = put_emphasis(p, here, depth);
        }
        if (used == 0) {
            put_escaped(p->out, here.at, 1);
            used = 1;
        }
    }
}

/* ---- paragraphs and lists ---- */
static void end_words(Page *p)
{
    if (p->words.len > 0) {
        bool bare = p->tight && p->depth > 0;
        text_puts(p->out, bare ? "" : "<p>");
        put_inline(p, (Slice){ p->words.data, p->words.len }, 0);
        text_puts(p->out, bare ? "\n" : "</p>\n");
    }
    text_free(&p->words);
    p->tight = false;
}

static void end_lists(Page *p, size_t indent)
{
    end_words(p);
    while (p->depth > 0 && p->lists[p->depth - 1].indent >= indent)
        text_printf(p->out, "</li></%s>\n", p->lists[--p->depth].numbered ? "ol" : "ul");
}

/* The mark of a list's item, with the blank after it; 0: there is none. */
static size_t item_mark(Slice s, bool *numbered)
{
    size_t n = 0;
    while (n < s.n && n < 9 && ascii_digit(s.at[n]))
        n++;
    *numbered = n > 0;
    bool mark = n < s.n && strchr(n ? ".)" : "-*+", s.at[n]) != NULL;
    return mark && n + 1 < s.n && s.at[n + 1] == ' ' ? n + 2 : 0;
}

static void begin_item(Page *p, size_t indent, bool numbered)
{
    end_lists(p, indent + 1);
    List *top = p->depth > 0 ? &p->lists[p->depth - 1] : NULL;
    if (top && top->indent == indent && top->numbered == numbered) {
        text_puts(p->out, "</li>\n<li>");
    } else {
        end_lists(p, indent);
        if (p->depth == LISTS)
            return;
        p->lists[p->depth++] = (List){ indent, numbered };
        text_puts(p->out, numbered ? "<ol>\n<li>" : "<ul>\n<li>");
    }
    p->tight = true;
}

static void add_words(Page *p, Slice line)
{
    text_puts(&p->words, p->words.len ? "\n" : "");
    text_put(&p->words, line.at, line.n);
}

/* ---- tables ---- */
static bool is_table_rule(Slice line)
{
    bool dash = false;
    for (size_t i = 0; i < line.n; i++) {
        if (!strchr("|-: \t", line.at[i]))
            return false;
        dash |= line.at[i] == '-';
    }
    return dash && line.n > 0 && memchr(line.at, '|', line.n);
}

static void put_table_row(Page *p, Slice line, const char *cell)
{
    bool code = false;
    size_t from = line.n > 0 && line.at[0] == '|', to = line.n;
    to -= to > from && line.at[to - 1] == '|';
    text_puts(p->out, "<tr>");
    for (size_t i = from; i <= to; i++) {
        code ^= i < to && line.at[i] == '`';
        bool cut = i == to || (line.at[i] == '|' && !code && line.at[i - 1] != '\\');
        if (!cut)
            continue;
        text_printf(p->out, "<%s>", cell);
        while (from < i && line.at[from] == ' ')
            from++;
        put_inline(p, (Slice){ line.at + from, i - from }, 0);
        text_printf(p->out, "</%s>", cell);
        from = i + 1;
    }
    text_puts(p->out, "</tr>\n");
}

/* ---- lines ---- */
static Slice line_of(const Text *text, size_t at)
{
    const char *from = text->data + at, *end = memchr(from, '\n', text->len - at);
    size_t n = end ? (size_t)(end - from) : text->len - at;
    while (n > 0 && ascii_space(from[n - 1]))
        n--;
    return (Slice){ from, n };
}

static size_t next_line(const Text *text, size_t at)
{
    const char *end = memchr(text->data + at, '\n', text->len - at);
    return end ? (size_t)(end - text->data) + 1 : text->len;
}

static size_t put_table(Page *p, size_t at)
{
    const Text *text = &p->md->text;
    end_lists(p, 0);
    text_puts(p->out, "<table>\n");
    put_table_row(p, line_of(text, at), "th");
    at = next_line(text, next_line(text, at));
    for (Slice row; at < text->len; at = next_line(text, at)) {
        row = line_of(text, at);
        if (!memchr(row.at, '|', row.n))
            break;
        put_table_row(p, row, "td");
    }
    text_puts(p->out, "</table>\n");
    return at;
}

static void put_heading(Page *p, Slice line, size_t level)
{
    end_lists(p, 0);
    text_printf(p->out, "<h%zu id=\"", level);
    while (level < line.n && line.at[level] == ' ')
        level++;
    Slice words = rest_of(line, level);
    for (size_t i = 0; i < words.n; i++) {
        char c = words.at[i] == ' ' ? '-' : words.at[i];
        if (ascii_alnum(c) || c == '-' || c == '_' || (c & 0x80))
            text_put(p->out, (char[]){ (char)ascii_to_lower(c) }, 1);
    }
    text_puts(p->out, "\">");
    put_inline(p, words, 0);
    text_printf(p->out, "</h%zu>\n", strspn(line.at, "#"));
}

static bool is_rule(Slice line)
{
    return line.n >= 3 && strchr("-*_", line.at[0]) && strspn(line.at, line.at[0] == '-' ? "-" :
           line.at[0] == '*' ? "*" : "_") >= line.n;
}

/* A line of the text, or a table; where the next begins. */
static size_t put_line(Page *p, size_t at)
{
    const Text *text = &p->md->text;
    Slice line = line_of(text, at);
    size_t next = next_line(text, at), indent = 0, level = 0, mark;
    bool numbered, blank = p->blank;
    while (indent < line.n && line.at[indent] == ' ')
        indent++;
    line = rest_of(line, indent);
    while (level < line.n && line.at[level] == '#')
        level++;
    p->blank = line.n == 0;
    if (line.n == 0) {
        end_words(p);
    } else if (level > 0 && level <= 6 && level < line.n && line.at[level] == ' ') {
        put_heading(p, line, level);
    } else if (is_rule(line)) {
        end_lists(p, 0);
        text_puts(p->out, "<hr>\n");
    } else if (memchr(line.at, '|', line.n) && next < text->len &&
               is_table_rule(line_of(text, next))) {
        return put_table(p, at);
    } else if ((mark = item_mark(line, &numbered)) > 0) {
        begin_item(p, indent, numbered);
        add_words(p, rest_of(line, mark));
    } else {
        if (blank && p->depth > 0)
            end_lists(p, indent);
        add_words(p, rest_of(line, begins(line, "> ") ? 2 : 0));
    }
    return next;
}

static void put_block(Page *p, const Block *block)
{
    static const char *const classes[] = { [BLOCK_OTHER] = "other", [BLOCK_RICCI] = "ricci",
        [BLOCK_ERROR] = "ricci error", [BLOCK_SESSION] = "session", [BLOCK_TEXT] = "text" };
    Text code = { 0 };
    if (block->indent == 0)
        end_lists(p, 0);
    end_words(p);
    markdown_code(p->md, block, &code);
    text_printf(p->out, "<pre class=\"%s\"><code>", classes[block->kind]);
    put_escaped(p->out, code.data ? code.data : "", code.len);
    text_puts(p->out, "</code></pre>\n");
    text_free(&code);
}

static void put_document(Page *p)
{
    const Markdown *md = p->md;
    size_t at = 0, number = 1, next = 0, ordinal = 0;
    while (at < md->text.len) {
        const Block *block = next < md->count ? &md->blocks[next] : NULL;
        size_t from = at;
        if (block && block->line == number) {
            put_block(p, block);
            ordinal += block->kind != BLOCK_TEXT;
            if (block->output < 0)
                put_made(p, ordinal);
            at = block->closed ? block->end : md->text.len;
            next++;
        } else {
            at = put_line(p, at);
        }
        for (; from < at; from = next_line(&md->text, from))
            number++;
    }
    end_lists(p, 0);
}

void html_page(Text *out, const Markdown *md, const char *path, const char *folder,
               const Pictures *pictures)
{
    Page page = { .out = out, .md = md, .pictures = pictures, .folder = folder };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    text_puts(out, "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>");
    put_escaped(out, name, strlen(name));
    text_printf(out, "</title>\n%s</head>\n<body>\n", head);
    put_document(&page);
    text_puts(out, "</body>\n</html>\n");
}
