/* The chain of dynamic scopes, and the arithmetic that the innermost one asks for: see scope.h.
 * Headers are read by eval_scope.c; operations ask through the door. Nothing here runs code. */
#include "interp/state/scope.h"

#include "kernels/random/rng.h"
#include "kernels/number/number.h"

/* Bits of a binary format as it would be stored; 0: it is none. */
static int format_bits(DType dt)
{
    int e, p;
    MiniStyle style;
    return dtype_mini_read(dt, &e, &p, &style) ? e + p : 0;
}

/* What sums go through without an `accumulate`: f32 for formats of at most 16 bits and tf32,
 * the format itself otherwise. */
static DType scope_default_accumulator(DType format)
{
    int bits = format_bits(format);
    bool narrow = bits > 0 && bits <= 16;
    return narrow || format == dtype_mini(8, 11, MINI_IEEE) ? DT_F32 : format;
}

Scope scope_of(DType format)
{
    return (Scope){ .format = format, .accumulate = scope_default_accumulator(format),
                    .autocast = DT_NONE, .backward = DT_NONE, .shadow = DT_NONE };
}

Scope scope_plain(void)
{
    return (Scope){ .format = DT_NONE, .accumulate = DT_NONE, .autocast = DT_NONE,
                    .backward = DT_NONE, .shadow = DT_NONE };
}

bool scope_same(const Scope *a, const Scope *b)
{
    return a->format == b->format && a->accumulate == b->accumulate &&
           a->autocast == b->autocast && a->backward == b->backward &&
           a->accumulate_given == b->accumulate_given && a->round == b->round &&
           a->saturate == b->saturate && a->flush == b->flush &&
           a->reproducible == b->reproducible;
}

Scope scope_in(const Scope *s, DType format)
{
    Scope in = scope_of(format);
    if (s->accumulate_given)
        in.accumulate = s->accumulate;
    in.accumulate_given = s->accumulate_given;
    in.round = s->round;
    in.saturate = s->saturate;
    in.flush = s->flush;
    in.reproducible = s->reproducible;
    in.seed[0] = s->seed[0];
    in.seed[1] = s->seed[1];
    in.draw = s->draw;
    return in;
}

Scope scope_implied(Interp *in, DType format)
{
    (void)in;
    return scope_of(format);
}

/* One block of the interpreter's generator: the same seed(…) gives the same roundings. */
void scope_seed(Interp *in, Scope *s)
{
    if (in->rng.key[1] == 0)
        interp_seed(in);
    uint64_t key = in->rng.key[0], n = in->rng.counter++;
    uint32_t out[4];
    philox_block((const uint32_t[2]){ (uint32_t)key, (uint32_t)(key >> 32) },
                 (const uint32_t[4]){ (uint32_t)n, (uint32_t)(n >> 32), 0, 0 }, out);
    s->seed[0] = (uint64_t)out[1] << 32 | out[0];
    s->seed[1] = (uint64_t)out[3] << 32 | out[2];
    s->draw = 0;
}

void scope_enter(Interp *in, Scope *s)
{
    s->up = in->scope;
    in->scope = s;
}

void scope_leave(Interp *in, Scope *s)
{
    assert(in->scope == s);
    in->scope = s->up;
}

/* ---- arithmetic ---- */
static void open(Interp *in, Arith *a, DType dt, const Scope *s, bool own)
{
    ArithStatus status = own ? arith_open(&in->ctx, a, dt, s->round, s->saturate, s->flush)
                             : arith_open(&in->ctx, a, dt, ROUND_NEAREST, false, false);
    if (status != ARITH_OK)
        arith_raise(&in->ctx, status, dt, "this scope");
    a->seed[0] = s->seed[0];
    a->seed[1] = s->seed[1];
    a->draw = s->draw;
}

void scope_arith(Interp *in, const Scope *s, Arith *a)
{
    open(in, a, s->format, s, true);
}

void scope_accumulator(Interp *in, const Scope *s, Arith *a)
{
    open(in, a, s->accumulate, s, s->accumulate == s->format);
    a->wide = s->accumulate != s->format &&
              dtype_promote(s->accumulate, s->format) != s->accumulate;
}

void scope_done(Scope *s, const Arith *a)
{
    arith_flags_add(&s->flags, &a->flags);
    if (a->round == ROUND_STOCHASTIC && a->draw > s->draw)
        s->draw = a->draw;
}
