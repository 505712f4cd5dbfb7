/* Links of chains for one float dtype: see nest_chain.c. Included by nest_stage_type.tmpl.h. A
 * link is given the registers, four vectors to each, and hands them to the next one, which
 * compilers make a jump; so the registers of the machine hold them from the first to the last. */
#define ARGS const StageLink *l, int64_t at, V a0, V a1, V a2, V a3, V b0, V b1, V b2, V b3
#define NEXT ((ID(link) *)l[1].run)(l + 1, at, a0, a1, a2, a3, b0, b1, b2, b3)
typedef void ID(link)(ARGS);

#define FROM(p, i) AT((const T *)((p) + at + (i) * VECTOR))
#define SAME(p) SPLAT(*(const T *)(p))

/* Operand x of a link with register r: R the register itself, M memory, S one number. */
#define X_R(r, i) r##i
#define X_M(r, i) FROM(l->x, i)
#define X_S(r, i) SAME(l->x)
#define Y_R(r, i) r##i
#define Y_M(r, i) FROM(l->y, i)
#define Y_S(r, i) SAME(l->y)

/* r becomes F of its operands; `up` is the register after r. */
#define LINK2(name, F, r, kx, ky, rx, ry) \
    static void ID(name##_##r##_##kx##ky)(ARGS) \
    { \
        r##0 = F(X_##kx(rx, 0), Y_##ky(ry, 0)); \
        r##1 = F(X_##kx(rx, 1), Y_##ky(ry, 1)); \
        r##2 = F(X_##kx(rx, 2), Y_##ky(ry, 2)); \
        r##3 = F(X_##kx(rx, 3), Y_##ky(ry, 3)); \
        NEXT; \
    }
#define LINKS2_AT(name, F, r, up) \
    LINK2(name, F, r, R, R, r, up) LINK2(name, F, r, R, M, r, r) LINK2(name, F, r, R, S, r, r) \
    LINK2(name, F, r, M, R, r, r) LINK2(name, F, r, M, M, r, r) LINK2(name, F, r, M, S, r, r) \
    LINK2(name, F, r, S, R, r, r) LINK2(name, F, r, S, M, r, r) LINK2(name, F, r, S, S, r, r) \
    static void ID(name##_##r##_twice)(ARGS) \
    { \
        r##0 = F(r##0, r##0); \
        r##1 = F(r##1, r##1); \
        r##2 = F(r##2, r##2); \
        r##3 = F(r##3, r##3); \
        NEXT; \
    }
#define LINKS2(name, F) \
    LINKS2_AT(name, F, a, b) LINKS2_AT(name, F, b, b)

#define LINK1(name, F, r, kx) \
    static void ID(name##_##r##_##kx)(ARGS) \
    { \
        r##0 = F(X_##kx(r, 0)); \
        r##1 = F(X_##kx(r, 1)); \
        r##2 = F(X_##kx(r, 2)); \
        r##3 = F(X_##kx(r, 3)); \
        NEXT; \
    }
#define MADE(r, x) (((r) != (r)) & ((x) == (x)))
/* Where the result is a nan and x is not, ones are left in *nan. */
#define LINK1_WATCHED(name, F, r, kx) \
    static void ID(watched_##name##_##r##_##kx)(ARGS) \
    { \
        V x0 = X_##kx(r, 0), x1 = X_##kx(r, 1), x2 = X_##kx(r, 2), x3 = X_##kx(r, 3); \
        r##0 = F(x0); \
        r##1 = F(x1); \
        r##2 = F(x2); \
        r##3 = F(x3); \
        *(ID(mask) *)l->nan |= MADE(r##0, x0) | MADE(r##1, x1) | MADE(r##2, x2) | MADE(r##3, x3); \
        NEXT; \
    }
#define LINKS1_AT(LINK, name, F, r) LINK(name, F, r, R) LINK(name, F, r, M) LINK(name, F, r, S)
#define LINKS1(LINK, name, F) LINKS1_AT(LINK, name, F, a) LINKS1_AT(LINK, name, F, b)

/* The formulas are those of elementwise.def. */
#define PLUS(x, y) ((x) + (y))
#define MINUS(x, y) ((x) - (y))
#define TIMES(x, y) ((x) * (y))
#define OVER(x, y) ((x) / (y))
#define LARGER(x, y) ID(choose)(((x) > (y)) | ((x) != (x)), (x), (y))
#define SMALLER(x, y) ID(choose)(((x) < (y)) | ((x) != (x)), (x), (y))
LINKS2(add, PLUS)
LINKS2(subtract, MINUS)
LINKS2(multiply, TIMES)
LINKS2(divide, OVER)
LINKS2(maximum, LARGER)
LINKS2(minimum, SMALLER)

#define NEGATE(x) ((V)((ID(mask))(x) ^ (ID(mask))SPLAT((T)-0.0)))
#define RECTIFY(x) ID(choose)(((x) > 0) | ((x) != (x)), (x), (V){ 0 })
LINKS1(LINK1, negative, NEGATE)
LINKS1(LINK1, abs, SIZE_V)
LINKS1(LINK1, relu, RECTIFY)
LINKS1(LINK1, sqrt, ID(roots))
LINKS1(LINK1_WATCHED, sqrt, ID(roots))

#define TO_MEMORY(name, STORE, r) \
    static void ID(name##_##r)(ARGS) \
    { \
        STORE((T *)(l->to + at), r##0); \
        STORE((T *)(l->to + at + VECTOR), r##1); \
        STORE((T *)(l->to + at + 2 * VECTOR), r##2); \
        STORE((T *)(l->to + at + 3 * VECTOR), r##3); \
        NEXT; \
    }
TO_MEMORY(keep, PUT, a)
TO_MEMORY(keep, PUT, b)
TO_MEMORY(past, PAST, a)
TO_MEMORY(past, PAST, b)

#define FAR 8192
static void ID(ahead)(ARGS)
{
    for (int i = 0; i < CHAIN_VECTORS * VECTOR; i += 64)
        __builtin_prefetch(l->x + at + FAR + i);
    NEXT;
}

/* Into lanes, of which a group is one part. */
#define INTO(name, F, r, LOOK) \
    static void ID(name##_into_##r)(ARGS) \
    { \
        char *to = l->to + (at & (LANE_BYTES - 1)); \
        LOOK(r##0, r##1, r##2, r##3); \
        PUT((T *)to, F(AT((T *)to), r##0)); \
        PUT((T *)(to + VECTOR), F(AT((T *)(to + VECTOR)), r##1)); \
        PUT((T *)(to + 2 * VECTOR), F(AT((T *)(to + 2 * VECTOR)), r##2)); \
        PUT((T *)(to + 3 * VECTOR), F(AT((T *)(to + 3 * VECTOR)), r##3)); \
        NEXT; \
    }
#define INTOS(name, F, LOOK) INTO(name, F, a, LOOK) INTO(name, F, b, LOOK)
#define NO_LOOK(x, y, z, w)
#define LOOK_NAN(x, y, z, w) \
    (*(ID(mask) *)l->nan |= ((x) != (x)) | ((y) != (y)) | ((z) != (z)) | ((w) != (w)))
#define LESS_OF(a, v) ID(choose)((v) < (a), v, a)
#define MORE_OF(a, v) ID(choose)((v) > (a), v, a)
INTOS(sum, PLUS, NO_LOOK)
INTOS(least, LESS_OF, LOOK_NAN)
INTOS(most, MORE_OF, LOOK_NAN)

static void ID(finish)(ARGS)
{
    (void)l, (void)at, (void)a0, (void)a1, (void)a2, (void)a3;
    (void)b0, (void)b1, (void)b2, (void)b3;
}

static void ID(start)(const StageLink *l, int64_t from, int64_t to)
{
    V none = { 0 };
    for (int64_t at = from; at < to; at += CHAIN_VECTORS * VECTOR)
        ((ID(link) *)l->run)(l, at, none, none, none, none, none, none, none, none);
}

/* As reduce_fold.tmpl.h does: no element is added up more than 16 times in a row. */
static void ID(sum_fold)(const StageLink *link, void *lanes, int64_t each, int64_t count,
                         void *result)
{
    enum { LANES = LANE_BYTES / sizeof(T), PART = 16 * LANE_BYTES };
    T *lane = lanes, total[LANES];
    for (int64_t b = 0; b < count; b++) {
        for (int64_t at = b * each, end = at + each; at < end; at += PART) {
            for (int l = 0; l < LANES; l++)
                lane[l] = (T)-0.0;
            ID(start)(link, at, at + PART < end ? at + PART : end);
            for (int l = 0; l < LANES; l++)
                total[l] = at == b * each ? lane[l] : total[l] + lane[l];
        }
        for (int w = LANES / 2; w > 0; w /= 2)
            for (int l = 0; l < w; l++)
                total[l] += total[l + w];
        ((T *)result)[b] = total[0];
    }
}

/* As reduce_extreme.tmpl.h does; it means nothing where there was a nan. */
#define EXTREME_FOLD(name, WORST, BETTER) \
    static void ID(name##_fold)(const StageLink *link, void *lanes, int64_t each, int64_t count, \
                                void *result) \
    { \
        enum { LANES = LANE_BYTES / sizeof(T) }; \
        T *lane = lanes; \
        for (int64_t b = 0; b < count; b++) { \
            for (int l = 0; l < LANES; l++) \
                lane[l] = WORST; \
            ID(start)(link, b * each, (b + 1) * each); \
            for (int w = LANES / 2; w > 0; w /= 2) \
                for (int l = 0; l < w; l++) \
                    lane[l] = lane[l + w] BETTER lane[l] ? lane[l + w] : lane[l]; \
            ((T *)result)[b] = lane[0]; \
        } \
    }
EXTREME_FOLD(least, HIGHEST, <)
EXTREME_FOLD(most, LOWEST, >)

#define OF2(name, r) \
    { { (StageLinkFn)ID(name##_##r##_RR), (StageLinkFn)ID(name##_##r##_RM), \
        (StageLinkFn)ID(name##_##r##_RS) }, \
      { (StageLinkFn)ID(name##_##r##_MR), (StageLinkFn)ID(name##_##r##_MM), \
        (StageLinkFn)ID(name##_##r##_MS) }, \
      { (StageLinkFn)ID(name##_##r##_SR), (StageLinkFn)ID(name##_##r##_SM), \
        (StageLinkFn)ID(name##_##r##_SS) } }
#define ROW2(name) { OF2(name, a), OF2(name, b) }
#define TWICE(name) { (StageLinkFn)ID(name##_a_twice), (StageLinkFn)ID(name##_b_twice) }
#define OF1(name, r) { (StageLinkFn)ID(name##_##r##_R), (StageLinkFn)ID(name##_##r##_M), \
                       (StageLinkFn)ID(name##_##r##_S) }
#define ROW1(name) { OF1(name, a), OF1(name, b) }
static const StageLinks ID(links) = {
    .group = CHAIN_VECTORS * VECTOR / sizeof(T),
    .start = ID(start),
    .binary = { [LINK_ADD] = ROW2(add), [LINK_SUBTRACT] = ROW2(subtract),
                [LINK_MULTIPLY] = ROW2(multiply), [LINK_DIVIDE] = ROW2(divide),
                [LINK_MAXIMUM] = ROW2(maximum), [LINK_MINIMUM] = ROW2(minimum) },
    .twice = { [LINK_ADD] = TWICE(add), [LINK_SUBTRACT] = TWICE(subtract),
               [LINK_MULTIPLY] = TWICE(multiply), [LINK_DIVIDE] = TWICE(divide),
               [LINK_MAXIMUM] = TWICE(maximum), [LINK_MINIMUM] = TWICE(minimum) },
    .unary = { [LINK_NEGATIVE] = ROW1(negative), [LINK_ABS] = ROW1(abs),
               [LINK_RELU] = ROW1(relu), [LINK_SQRT] = ROW1(sqrt),
               [LINK_WATCHED_SQRT] = ROW1(watched_sqrt) },
    .keep = { (StageLinkFn)ID(keep_a), (StageLinkFn)ID(keep_b) },
    .past = { (StageLinkFn)ID(past_a), (StageLinkFn)ID(past_b) },
    .ahead = (StageLinkFn)ID(ahead),
    .into = { { (StageLinkFn)ID(sum_into_a), (StageLinkFn)ID(sum_into_b) },
              { (StageLinkFn)ID(least_into_a), (StageLinkFn)ID(least_into_b) },
              { (StageLinkFn)ID(most_into_a), (StageLinkFn)ID(most_into_b) } },
    .fold = { ID(sum_fold), ID(least_fold), ID(most_fold) },
    .finish = (StageLinkFn)ID(finish),
};
#undef ARGS
#undef NEXT
#undef FROM
#undef SAME
#undef X_R
#undef X_M
#undef X_S
#undef Y_R
#undef Y_M
#undef Y_S
#undef LINK2
#undef LINKS2_AT
#undef LINKS2
#undef LINK1
#undef LINK1_WATCHED
#undef MADE
#undef LINKS1_AT
#undef LINKS1
#undef PLUS
#undef MINUS
#undef TIMES
#undef OVER
#undef LARGER
#undef SMALLER
#undef NEGATE
#undef RECTIFY
#undef TO_MEMORY
#undef FAR
#undef INTO
#undef INTOS
#undef NO_LOOK
#undef LOOK_NAN
#undef LESS_OF
#undef MORE_OF
#undef EXTREME_FOLD
#undef OF2
#undef ROW2
#undef TWICE
#undef OF1
#undef ROW1
