/* An elementwise row as a composition of others (AS in elementwise.def), for the formats that
 * have no form of their own: its text to steps, and the steps on rows. */
#include "kernels/elementwise/ew.h"

#include <stdlib.h>
#include <string.h>

typedef struct Reader { const char *at; EwParts *to; int arity; } Reader;

static int read_cell(Reader *r);

static bool take(Reader *r, char c)
{
    r->at += strspn(r->at, " ");
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static int whole_cell(Reader *r)
{
    char *end;
    int64_t value = strtoll(r->at, &end, 10);
    int k = 0;
    if (end == r->at)
        return -1;
    r->at = end;
    while (k < r->to->wholes && r->to->whole[k] != value)
        k++;
    if (k == EW_WHOLES)
        return -1;
    r->to->whole[k] = value;
    r->to->wholes += k == r->to->wholes;
    return EW_WHOLE + k;
}

static EwOp row_named(const char *name, size_t len)
{
    int op = 0;
    while (op < EW_COUNT && (ew_info[op].name[0] != *name ||
                             strncmp(ew_info[op].name, name, len) != 0 ||
                             ew_info[op].name[len] != '\0'))
        op++;
    return (EwOp)op;
}

/* name(…, …) after its name: the operands first, then the part itself. */
static int part_cell(Reader *r, EwOp op)
{
    EwPart part = { .op = op };
    for (int k = 0; k < ew_info[op].arity && k < 3; k++) {
        int cell = take(r, k ? ',' : '(') ? read_cell(r) : -1;
        if (cell < 0)
            return -1;
        part.x[k] = (uint8_t)cell;
    }
    if (!take(r, ')') || r->to->parts == EW_PARTS)
        return -1;
    r->to->part[r->to->parts] = part;
    return EW_PART + r->to->parts++;
}

/* The cell of an operand, -1 if it cannot be read. */
static int read_cell(Reader *r)
{
    r->at += strspn(r->at, " ");
    size_t len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (len == 0 || (*r->at >= '0' && *r->at <= '9'))
        return whole_cell(r);
    const char *name = r->at;
    r->at += len;
    if (len == 1 && *name >= 'x')
        return *name - 'x' < r->arity ? *name - 'x' : -1;
    EwOp op = row_named(name, len);
    return op == EW_COUNT || ew_info[op].as ? -1 : part_cell(r, op);
}

bool ew_parts(EwOp op, EwParts *to)
{
    Reader r = { ew_info[op].as, to, ew_info[op].arity };
    if (!r.at)
        return false;
    *to = (EwParts){ .arity = r.arity, .wholes = 2, .whole = { 0, 1 } };
    int last = read_cell(&r);
    return last == EW_PART + to->parts - 1 && *r.at == '\0' &&
           (ew_info[to->part[last - EW_PART].op].result == RES_BOOL) ==
               (ew_info[op].result == RES_BOOL);
}

/* A row of cells: where it begins, and its stride. */
typedef struct Row { const char *at; int64_t step; } Row;

static const void *element(Row r, int64_t i)
{
    return r.at + i * r.step * (int64_t)sizeof(Rational);
}

/* The bytes that a comparison wrote, as the cells 0 and 1. */
static void answers(Rational *made, const Rational *whole, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--)
        made[i] = whole[((const uint8_t *)(const void *)made)[i] != 0];
}

int ew_parts_run(const EwParts *p, EwPartFn part, void *work, const Rational *whole, void *out,
                 int64_t so, const void *const x[], const int64_t sx[], int64_t n)
{
    enum { STRIP = 64 };
    Rational made[EW_PARTS][STRIP];
    Row rows[EW_CELLS];
    bool bytes = ew_info[p->part[p->parts - 1].op].result == RES_BOOL;
    for (int k = 0; k < p->arity; k++)
        rows[k] = (Row){ x[k], sx[k] };
    for (int k = 0; k < p->wholes; k++)
        rows[EW_WHOLE + k] = (Row){ (const char *)&whole[k], 0 };
    for (int k = 0; k < p->parts; k++)
        rows[EW_PART + k] = (Row){ (const char *)made[k], 1 };
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t m = n - i < STRIP ? n - i : STRIP;
        for (int k = 0; k < p->parts; k++) {
            const EwPart *step = &p->part[k];
            const void *in[3];
            int64_t strides[3];
            bool last = k == p->parts - 1;
            for (int j = 0; j < ew_info[step->op].arity; j++) {
                Row r = rows[step->x[j]];
                in[j] = element(r, step->x[j] < EW_PART ? i : 0);
                strides[j] = r.step;
            }
            char *end = (char *)out + i * so * (bytes ? 1 : (int64_t)sizeof(Rational));
            void *to = last ? (void *)end : (void *)made[k];
            int status = part(work, step->op, to, last ? so : 1, in, strides, m);
            if (status != 0)
                return status;
            if (!last && ew_info[step->op].result == RES_BOOL)
                answers(made[k], whole, m);
        }
    }
    return 0;
}
