/* The table that `profile` prints, fitted to the terminal (80 cells elsewhere): a row per kind of
 * operation, the longest first, copies between devices among them, and what passed outside of
 * both. A column without anything to say is left out; the kernel gets what the others leave. */
#include "interp/measure/profile.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/output/display.h"
#include "interp/output/output.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <string.h>

typedef enum Column {
    COL_NAME, COL_DEVICE, COL_DTYPE, COL_CALLS, COL_TIME, COL_SHARE, COL_FLOPS,
    COL_RATE, COL_COPIES, COL_BETWEEN, COL_KERNEL, COLUMNS
} Column;

/* least: so that what the clock says does not change the layout. */
static const struct { const char *name; bool left; int least, most; } columns[COLUMNS] = {
    [COL_NAME] = { "operation", true, 9, 14 }, [COL_DEVICE] = { "device", true, 6, 10 },
    [COL_DTYPE] = { "dtype", true, 5, 8 },     [COL_CALLS] = { "calls", false, 5, 9 },
    [COL_TIME] = { "time", false, 7, 8 },      [COL_SHARE] = { "share", false, 5, 5 },
    [COL_FLOPS] = { "GFLOP/s", false, 7, 8 },  [COL_RATE] = { "GB/s", false, 5, 6 },
    [COL_COPIES] = { "copies", false, 6, 14 }, [COL_BETWEEN] = { "between", false, 7, 8 },
    [COL_KERNEL] = { "kernel", true, 6, 40 },
};

enum { CELL = 96, KERNEL_MIN = 6 };

typedef struct Line { char cell[COLUMNS][CELL]; } Line;

typedef struct Table {
    Interp *in;
    Profile *p;
    int order[PROFILE_ROWS + 1];
    int width[COLUMNS];             /* 0: left out */
    bool devices;                   /* some of it was not on the host */
} Table;

static bool is_copy(const ProfileRow *r) { return strncmp(r->name, "copy ", 5) == 0; }

/* ---- cells ---- */
/* 12.3, 0.05, 1234. Whether there is one does not hang on the clock. */
static void put_rate(char *out, double amount, double seconds)
{
    double x = seconds > 0 ? 1e-9 * amount / seconds : 0;
    if (amount > 0)
        c_snprintf(out, CELL, x < 9.995 ? "%.2f" : x < 99.95 ? "%.1f" : "%.0f", x);
}

static void put_share(char *out, double part, double whole)
{
    double percent = whole > 0 ? 100 * part / whole : 0;
    if (percent > 0 && percent < 0.95)
        snprintf(out, CELL, "<1%%");
    else
        c_snprintf(out, CELL, "%.0f%%", percent);
}

static void fill_line(const Table *t, Line *l, const ProfileRow *r, double whole)
{
    char text[32];
    *l = (Line){ 0 };
    snprintf(l->cell[COL_NAME], CELL, "%s", r->name);
    if (t->devices && r->device)
        snprintf(l->cell[COL_DEVICE], CELL, "%s", r->device->name);
    if (r->dtype != DT_NONE)
        snprintf(l->cell[COL_DTYPE], CELL, "%s", dtype_name(r->dtype));
    snprintf(l->cell[COL_CALLS], CELL, "%llu", (unsigned long long)r->calls);
    snprintf(l->cell[COL_TIME], CELL, "%s", seconds_text(text, sizeof text, r->seconds));
    put_share(l->cell[COL_SHARE], r->seconds, whole);
    if (r->flops > 0)
        put_rate(l->cell[COL_FLOPS], r->flops, r->seconds);
    put_rate(l->cell[COL_RATE], r->bytes, r->seconds);
    snprintf(l->cell[COL_KERNEL], CELL, "%s", r->kernel);
    if (is_copy(r) || r->copies) {
        heard_bytes_text(text, sizeof text, is_copy(r) ? r->bytes : r->moved);
        uint64_t n = is_copy(r) ? r->calls : r->copies;
        snprintf(l->cell[COL_COPIES], CELL, "%llu: %s", (unsigned long long)n, text);
    }
    if (r->device && r->device->ops->look && !is_copy(r))
        snprintf(l->cell[COL_BETWEEN], CELL, "%s",
                 heard_bytes_text(text, sizeof text, r->between));
}

/* What the interpreter itself took. */
static void fill_rest(Line *l, double seconds, double whole)
{
    char text[32];
    *l = (Line){ 0 };
    snprintf(l->cell[COL_NAME], CELL, "(outside)");
    snprintf(l->cell[COL_TIME], CELL, "%s", seconds_text(text, sizeof text, seconds));
    put_share(l->cell[COL_SHARE], seconds, whole);
    snprintf(l->cell[COL_KERNEL], CELL, "interpreter");
}

/* ---- layout ---- */
static int width_of(const char *text) { return text_width(text, strlen(text)); }

static void widen(Table *t, const Line *l)
{
    for (int k = 0; k < COLUMNS; k++) {
        int w = width_of(l->cell[k]), least = columns[k].least;
        w = w > 0 && w < least ? least : w > columns[k].most ? columns[k].most : w;
        t->width[k] = w > t->width[k] ? w : t->width[k];
    }
}

static int measure(const Table *t, int *n)
{
    int used = *n = 0;
    for (int k = 0; k < COL_KERNEL; k++) {
        used += t->width[k];
        *n += t->width[k] > 0;
    }
    return used;
}

/* The kernel's column gets what the others leave, and goes where that is too little; on a narrow
 * terminal others do, too. */
static int fit(Table *t)
{
    static const Column spare[] =
        { COL_RATE, COL_FLOPS, COL_SHARE, COL_CALLS, COL_DTYPE, COL_DEVICE };
    int screen = t->in->show.width > 0 ? t->in->show.width : SHOW_WIDTH, gap = 2, n;
    int used = measure(t, &n);
    for (size_t k = 0; k < sizeof spare / sizeof spare[0] && used + n - 1 > screen; k++) {
        t->width[spare[k]] = 0;
        used = measure(t, &n);
    }
    if (used + n * gap + t->width[COL_KERNEL] > screen)
        gap = 1;
    int room = screen - used - n * gap;
    if (room < t->width[COL_KERNEL])
        t->width[COL_KERNEL] = room < KERNEL_MIN ? 0 : room;
    return gap;
}

/* Cuts text to `room` cells, the last of them `…`. */
static void cut(char *text, int room)
{
    size_t at = 0, len = strlen(text);
    if (text_width(text, len) <= room)
        return;
    for (int cells = 0; at < len;) {
        size_t next = at;
        utf8_next(text, len, &next);
        cells += text_width(text + at, next - at);
        if (cells >= room)
            break;
        at = next;
    }
    memcpy(text + at, "…", sizeof "…");
}

/* Where it is too long, a kernel is first without the library's name. */
static void shorten_kernel(char *text, int room)
{
    char *library = strstr(text, " (");
    if (width_of(text) > room && library)
        *library = '\0';
}

static void put_line(const Table *t, Buf *out, Line *l, int gap)
{
    shorten_kernel(l->cell[COL_KERNEL], t->width[COL_KERNEL]);
    int last = COLUMNS - 1;
    while (last > 0 && (t->width[last] == 0 || !l->cell[last][0]))
        last--;
    for (int k = 0; k <= last; k++) {
        if (t->width[k] == 0)
            continue;
        cut(l->cell[k], t->width[k]);
        int pad = t->width[k] - width_of(l->cell[k]);
        if (!columns[k].left)
            buf_fill(out, ' ', (size_t)pad);
        buf_puts(out, l->cell[k]);
        if (columns[k].left && k < last)
            buf_fill(out, ' ', (size_t)pad);
        buf_fill(out, ' ', k < last ? (size_t)gap : 0);
    }
    buf_putc(out, '\n');
}

/* ---- above and below ---- */
static void put_heading(Buf *out, const Profile *p, double rest)
{
    char all[32], none[32];
    seconds_text(all, sizeof all, p->total);
    seconds_text(none, sizeof none, rest);
    buf_printf(out, "%s: %llu operation%s", all, (unsigned long long)p->operations,
               p->operations == 1 ? "" : "s");
    if (p->copies)
        buf_printf(out, ", %llu cop%s between devices", (unsigned long long)p->copies,
                   p->copies == 1 ? "y" : "ies");
    buf_printf(out, ", %s outside\n", none);
}

static void put_peak(Buf *out, const char *name, size_t peak, size_t before, bool *any)
{
    char text[32], more[32];
    heard_bytes_text(text, sizeof text, (double)peak);
    heard_bytes_text(more, sizeof more, peak > before ? (double)(peak - before) : 0);
    buf_printf(out, "%s%s %s (+%s)", *any ? ", " : "peak memory: ", name, text, more);
    *any = true;
}

static void put_memory(Interp *in, Buf *out, const Profile *p)
{
    bool any = false;
    int i = 0;
    put_peak(out, "cpu", in->ctx.mem.peak, p->before[i++], &any);
    for (const Device *d = in->ctx.devices->first; d && i < PROFILE_DEVICES; d = d->next, i++)
        if (d->peak)
            put_peak(out, d->name, d->peak, p->before[i], &any);
    buf_putc(out, '\n');
}

static void put_simulated(Buf *out, const Profile *p)
{
    const Device *told[8];
    int n = 0;
    for (int i = 0; i < p->rows && n < 8; i++) {
        const Device *d = p->row[i].device;
        bool again = !d || !(d->caps & DEVCAP_SIM);
        for (int k = 0; k < n; k++)
            again |= told[k] == d;
        if (again)
            continue;
        buf_printf(out, "%s%s",
                   n ? ", " : "simulated time, by a model of bandwidth and latency: ", d->name);
        told[n++] = d;
    }
    if (n)
        buf_putc(out, '\n');
}

/* The longest first; what takes the same in the order in which it ran. */
static void sort_rows(Table *t)
{
    const ProfileRow *row = t->p->row;
    for (int i = 0; i < t->p->rows; i++) {
        int at = i;
        for (; at > 0 && row[t->order[at - 1]].seconds < row[i].seconds; at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = i;
    }
}

static void put_table(Table *t, Buf *out)
{
    Profile *p = t->p;
    Line line, names = { 0 };
    double rest = p->total > p->inside ? p->total - p->inside : 0, whole = p->seconds + rest;
    sort_rows(t);
    for (int i = 0; i < p->rows; i++)
        t->devices |= p->row[i].device && p->row[i].device != t->in->ctx.devices->cpu;
    for (int i = 0; i < p->rows; i++) {
        fill_line(t, &line, &p->row[i], whole);
        widen(t, &line);
    }
    fill_rest(&line, rest, whole);
    widen(t, &line);
    for (int k = 0; k < COLUMNS; k++)
        snprintf(names.cell[k], CELL, "%s", columns[k].name);
    int gap = fit(t);
    put_heading(out, p, rest);
    if (p->rows == 0)
        return;
    put_line(t, out, &names, gap);
    for (int i = 0; i < p->rows; i++) {
        fill_line(t, &line, &p->row[t->order[i]], whole);
        put_line(t, out, &line, gap);
    }
    fill_rest(&line, rest, whole);
    put_line(t, out, &line, gap);
}

static void put_all(Table *t, Buf *out)
{
    put_table(t, out);
    put_memory(t->in, out, t->p);
    put_simulated(out, t->p);
    show_fold(out, 0, t->in->show.width);
}

/* ---- on a page that has tables ---- */
static void html_put_line(const Table *t, Buf *out, const Line *l)
{
    const char *cells[COLUMNS];
    bool left[COLUMNS];
    int n = 0;
    for (int k = 0; k < COLUMNS; k++) {
        if (t->width[k] == 0)
            continue;
        left[n] = columns[k].left;
        cells[n++] = l ? l->cell[k] : columns[k].name;
    }
    html_row(out, l ? "td" : "th", cells, left, n);
}

/* The table was put before, as text: its rows are in order and its columns known. */
static void html_put_table(const Table *t, Buf *out)
{
    Line line;
    const Profile *p = t->p;
    double rest = p->total > p->inside ? p->total - p->inside : 0, whole = p->seconds + rest;
    html_put_line(t, out, NULL);
    for (int i = 0; i < p->rows; i++) {
        fill_line(t, &line, &p->row[t->order[i]], whole);
        html_put_line(t, out, &line);
    }
    fill_rest(&line, rest, whole);
    html_put_line(t, out, &line);
}

static void put_words(Buf *out, Buf *words)
{
    buf_puts(out, "<p>");
    html_text(out, buf_cstr(words));
    buf_puts(out, "</p>\n");
    buf_clear(words);
}

static void show_forms(Interp *in, Display *d, void *task)
{
    Table *t = task;
    Buf *html = &d->form[DISPLAY_HTML], *words = &d->form[DISPLAY_TEXT];
    double rest = t->p->total > t->p->inside ? t->p->total - t->p->inside : 0;
    put_heading(words, t->p, rest);
    put_words(html, words);
    put_all(t, words);
    buf_clear(words);
    if (t->p->rows > 0) {
        buf_puts(html, "<table>\n");
        html_put_table(t, html);
        buf_puts(html, "</table>\n");
    }
    put_memory(in, words, t->p);
    put_simulated(words, t->p);
    put_words(html, words);
    put_all(t, words);
}

void profile_print(Interp *in, Profile *p)
{
    Buf out;
    ErrFrame frame;
    Table t = { .in = in, .p = p };
    if (display_wanted(in)) {
        display_make(in, show_forms, &t);
        return;
    }
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    put_all(&t, &out);
    out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
}
