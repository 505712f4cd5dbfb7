/* Canonical form of one or two operands (contract_pair_form.h). Nothing here raises or
 * allocates. */
#include "kernels/pair/contract_pair_form.h"

#include <string.h>

#define ENDLESS 0x1p58                  /* its bytes can still be counted */

static int class_of(const PairAxis *x)
{
    int class = 0;
    for (int t = 0; t < PAIR_TENSORS; t++)
        if (x->step[t])
            class |= 1 << t;
    return class;
}

/* Walks the axis backwards where that makes C's step positive, or those of both operands. */
static void turn_over(PairForm *f, PairAxis *x)
{
    const int64_t *s = x->step;
    bool back = s[PAIR_C] ? s[PAIR_C] < 0 : s[PAIR_A] <= 0 && s[PAIR_B] <= 0;
    for (int t = 0; t < PAIR_TENSORS && back; t++) {
        f->base[t] += (x->extent - 1) * x->step[t];
        x->step[t] = -x->step[t];
    }
}

/* An axis of the result stays one though its step is 0 (extent 1, or a lone element): only
 * axes along which something moves are kept. */
static void add_label(PairForm *f, const Contraction *c, int l)
{
    bool kept = c->out >> l & 1;
    PairAxis x = { c->extent[l], { kept ? c->out_stride[l] : 0, 0, 0 } };
    for (int i = 0; i < c->operands; i++)
        if (c->operand[i].labels >> l & 1)
            x.step[PAIR_A + i] = c->operand[i].stride[l];
    if (x.extent == 0) {
        *(kept ? &f->empty_result : &f->empty_sum) = true;
        return;
    }
    if (x.extent == 1)
        return;
    int class = class_of(&x);
    if (class == 0) {
        f->repeats = (int64_t)((uint64_t)f->repeats * (uint64_t)x.extent);
        f->times *= (double)x.extent;
        return;
    }
    turn_over(f, &x);
    f->axis[f->axes] = x;
    f->class[f->axes++] = (uint8_t)class;
}

/* Is moving along `outer` what is left when `inner` has been walked to its end? */
static bool fits(const PairAxis *outer, const PairAxis *inner)
{
    for (int t = 0; t < PAIR_TENSORS; t++)
        if (outer->step[t] != inner->step[t] * inner->extent)
            return false;
    return true;
}

static void drop_axis(PairForm *f, int at)
{
    f->axes--;
    memmove(f->axis + at, f->axis + at + 1, (size_t)(f->axes - at) * sizeof *f->axis);
    memmove(f->class + at, f->class + at + 1, (size_t)(f->axes - at));
}

static bool fuse_once(PairForm *f)
{
    for (int o = 0; o < f->axes; o++)
        for (int i = 0; i < f->axes; i++)
            if (i != o && f->class[i] == f->class[o] && fits(&f->axis[o], &f->axis[i])) {
                f->axis[i].extent *= f->axis[o].extent;
                drop_axis(f, o);
                return true;
            }
    return false;
}

void pair_form_fuse(PairForm *f)
{
    while (!f->endless && fuse_once(f))
        continue;
}

void pair_form(PairForm *f, const Contraction *c)
{
    f->dtype = c->dtype;
    f->semiring = c->semiring;
    f->single = c->operands < 2;
    f->empty_result = f->empty_sum = false;
    f->repeats = 1;
    f->times = 1;
    f->axes = 0;
    for (int t = 0; t < PAIR_TENSORS; t++) {
        f->base[t] = 0;
        f->conj[t] = t && t - PAIR_A < c->operands && c->operand[t - PAIR_A].conj &&
                     dtype_info(c->dtype)->kind == 'c';
    }
    for (int l = 0; l < c->labels; l++)
        add_label(f, c, l);
    f->endless = false;
    for (int t = 0; t < PAIR_TENSORS; t++)
        f->endless |= pair_form_size(f, t) > ENDLESS;
    pair_form_fuse(f);
}

int pair_form_axes(const PairForm *f, int class, PairAxis *to)
{
    int n = 0;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == class)
            to[n++] = f->axis[d];
    return n;
}

double pair_form_extent(const PairForm *f, int class)
{
    double n = 1;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == class)
            n *= (double)f->axis[d].extent;
    return n;
}

double pair_form_size(const PairForm *f, int tensor)
{
    double n = 1;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] >> tensor & 1)
            n *= (double)f->axis[d].extent;
    return n;
}

void pair_form_one(Semiring s, DType dt, void *cell)
{
    memset(cell, 0, 16);
    switch (s) {
    case SR_MIN_PLUS: case SR_MAX_PLUS:
        return;
    case SR_MIN_MAX:                    /* what changes nothing under max */
        semiring_identity(SR_MAX_MIN, dt, cell);
        return;
    case SR_MAX_MIN:
        semiring_identity(SR_MIN_MAX, dt, cell);
        return;
    default:
        break;
    }
    switch (dt) {
    case DT_I32: *(int32_t *)cell = 1; break;
    case DT_I64: *(int64_t *)cell = 1; break;
    case DT_F32: case DT_C64: *(float *)cell = 1; break;
    case DT_F64: case DT_C128: *(double *)cell = 1; break;
    default: *(uint8_t *)cell = 1; break;
    }
}
