/* rows=a:b of a delimited file. Rows before a are passed over without being taken apart; where the
 * piece of a large file ended is kept, so that a loop over pieces reads each row once. */
#include "builtins/files/csv.h"

#include <stdio.h>
#include <time.h>

/* Behind row `row`, in a file that is still the same one. */
typedef struct CsvPlace {
    FileStamp stamp;
    int64_t start;               /* where its first row starts, in bytes */
    char delimiter;              /* where quotes have a meaning goes by it */
    int64_t row, at, line;
} CsvPlace;

enum { PLACES = 4 };
typedef struct CsvPlaces { CsvPlace place[PLACES]; unsigned next; } CsvPlaces;
static const OpState places_kept = { .bytes = sizeof(CsvPlaces) };

/* A file that was written a moment ago may be written again without its time telling. */
static bool settled(const FileStamp *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return s->size >= 1 << 20 && (int64_t)now.tv_sec - s->changed / 1000000000 > 2;
}

static bool same_file(const FileStamp *a, const FileStamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed == b->changed && a->modified == b->modified;
}

static CsvPlace *place_of(const CsvReader *r, const Bytes *b, int64_t start)
{
    CsvPlaces *all = op_state(r->call->in, &places_kept);
    for (int i = 0; i < PLACES; i++) {
        CsvPlace *p = &all->place[i];
        if (p->at && same_file(&p->stamp, &b->stamp) && p->start == start &&
            p->delimiter == r->delimiter)
            return p;
    }
    return NULL;
}

/* rows= as a half-open range; false: all rows. */
static bool rows_given(OpCall *c, int64_t *from, int64_t *to)
{
    if (!arg_given(c, LOAD_ROWS) || c->args[LOAD_ROWS].tag == V_NONE)
        return false;
    Value v = c->args[LOAD_ROWS];
    char is[96], help[96];
    int64_t n = -1;
    bool first = v_as_int(v, &n) && n > 0;
    if (v.tag == V_RANGE && v.range->step > 0)
        snprintf(help, sizeof help, "read them all, and take some: rows=%lld:%lld",
                 (long long)v.range->start, (long long)v.range->stop);
    else
        snprintf(help, sizeof help, first ? "the first %lld rows: rows=0:%lld"
                                          : "rows 1000 to 1999: rows=1000:2000",
                 (long long)n, (long long)n);
    if (v.tag != V_RANGE)
        arg_error_help(c, LOAD_ROWS, ERR_TYPE, help, "rows must be a range a:b, not %s",
                       v_describe_a(v, is, sizeof is));
    if (v.range->step != 1)
        arg_error_help(c, LOAD_ROWS, ERR_VALUE, help, "rows is a range a:b without a step");
    if (v.range->start < 0)
        arg_error_help(c, LOAD_ROWS, ERR_VALUE, "rows count from 0, the first after the header",
                       "rows starts at %lld, but a file has no rows before row 0",
                       (long long)v.range->start);
    *from = v.range->start;
    *to = v.range->start + v.range->count;
    return true;
}

int64_t csv_rows_begin(CsvReader *r, const Bytes *b)
{
    OpCall *c = r->call;
    int64_t from, to, row = 0, start = r->at - (const char *)b->data;
    if (!rows_given(c, &from, &to))
        return INT64_MAX;
    const CsvPlace *p = place_of(r, b, start);
    if (p && p->row <= from && p->at <= b->size) {
        row = p->row;
        r->at = (const char *)b->data + p->at;
        r->line = p->line;
    }
    for (; row < from && csv_more(r); row++) {
        csv_pass(r);
        if ((row & 4095) == 0)
            poll_interrupt(c->in);
    }
    r->piece = true;
    r->first = start;
    r->before = row;
    return to - from;
}

void csv_rows_end(const CsvReader *r, const Bytes *b)
{
    if (!r->piece || !settled(&b->stamp))
        return;
    CsvPlaces *all = op_state(r->call->in, &places_kept);
    CsvPlace *p = place_of(r, b, r->first);
    if (!p)
        p = &all->place[all->next++ % PLACES];
    *p = (CsvPlace){ b->stamp, r->first, r->delimiter, r->before + r->rows,
                     r->at - (const char *)b->data, r->line };
}
