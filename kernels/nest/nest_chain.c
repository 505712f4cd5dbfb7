/* Chains: runs of elementwise steps over floats that are computed a few vectors at a time, in
 * registers, instead of a strip at a time through the cache. Nothing is generated: a chain is a
 * list of pointers to functions (nest_chain.tmpl.h), and each goes to the next. Steps stand in the
 * order in which an expression is evaluated on a stack, so operands are the topmost registers; a
 * value that is read twice, or from outside, is kept in memory besides. The steps themselves stay
 * behind that of the chain, for the last elements of a strip. */
#include "kernels/nest/nest_stage_work.h"

#include <string.h>

enum {
    CHAIN_MIN = 4,              /* operations; one where all of a program is a chain */
    SWEEP_STRIPS = 32,          /* at a time: after each so many an interrupt is seen */
    BURST = 512                 /* bytes between which memory is fetched and written: eight lines */
};

typedef struct LinkKind {
    uint8_t args, op, watched;  /* args 0: none */
} LinkKind;

static const LinkKind link_of[EW_COUNT] = {
    [EW_ADD] = { 2, LINK_ADD, 0 }, [EW_SUBTRACT] = { 2, LINK_SUBTRACT, 0 },
    [EW_MULTIPLY] = { 2, LINK_MULTIPLY, 0 }, [EW_DIVIDE] = { 2, LINK_DIVIDE, 0 },
    [EW_MAXIMUM] = { 2, LINK_MAXIMUM, 0 }, [EW_MINIMUM] = { 2, LINK_MINIMUM, 0 },
    [EW_NEGATIVE] = { 1, LINK_NEGATIVE, 0 }, [EW_ABS] = { 1, LINK_ABS, 0 },
    [EW_RELU] = { 1, LINK_RELU, 0 }, [EW_SQRT] = { 1, LINK_SQRT, LINK_WATCHED_SQRT },
};

/* ---- finding them ---- */

bool stage_is_link(EwOp op, int args, DType dt, bool watched)
{
    const LinkKind *kind = &link_of[op];
    return stage_kernels()->links[dt] && kind->args == args && (!watched || kind->watched);
}

static bool is_link(const StageStep *s, int dtype)
{
    return s->kind == STEP_EW && s->strip && s->dtype == dtype && s->from == dtype &&
           stage_is_link((EwOp)s->op, s->args, (DType)dtype, s->watched);
}

typedef struct Run {
    const StageCode *c;
    StageStep *step;            /* its first; those of the program end at `end` */
    int count;
    const StageStep *end;
    int least;                  /* operations */
    int stack[CHAIN_REGISTERS], depth;
    uint32_t spilled;           /* its steps whose values wait in memory */
} Run;

static bool reads(const StageStep *s, int value)
{
    for (int k = 0; k < 4; k++)
        if (s->arg[k] == value)
            return true;
    return false;
}

/* Which later steps of the run read the value of its step i: how many, and whether others do. */
static int readers(const Run *r, int i, bool *outside)
{
    int value = r->step[i].value, count = 0;
    const StageValue *v = &r->c->value[value];
    for (int j = i + 1; j < r->count; j++)
        count += reads(&r->step[j], value);
    *outside = r->step[i].to_result || v->pinned;
    for (const StageStep *s = r->step + r->count; s < r->end && !*outside; s++)
        *outside = reads(s, value);
    return count;
}

/* Operands of step i from the top of the stack; false where they do not stand there. */
static bool take_operands(Run *r, StageStep *s)
{
    bool twice = s->args == 2 && s->arg[0] == s->arg[1];
    for (int k = s->args - 1; k >= 0; k--) {
        s->in_register[k] = false;
        for (int d = 0; d < r->depth && !(twice && k == 0); d++) {
            if (r->stack[d] != s->arg[k])
                continue;
            if (d != r->depth - 1)
                return false;
            s->in_register[k] = true;
            r->depth--;
        }
    }
    if (s->args == 1 || twice)
        s->in_register[1 - twice] = s->in_register[twice];
    return true;
}

/* Registers for the run; false with *cut or another spilled value where it cannot be as it is. */
static bool assign_registers(Run *r, int *cut)
{
    r->depth = 0;
    *cut = r->count;
    for (int i = 0; i < r->count; i++) {
        StageStep *s = &r->step[i];
        bool outside;
        int inside = readers(r, i, &outside);
        if (!take_operands(r, s)) {
            *cut = i;
            return false;
        }
        if (r->depth == CHAIN_REGISTERS) {      /* what is needed last */
            for (int j = 0; j < i; j++)
                if (r->step[j].value == r->stack[0])
                    r->spilled |= 1u << j;
            return false;
        }
        bool spilled = r->spilled >> i & 1;
        s->at = (uint8_t)r->depth;
        s->kept = outside || inside > 1 || spilled;
        if (inside && !spilled)
            r->stack[r->depth++] = s->value;
    }
    return true;
}

/* The longest chain of the run's first steps: its operations. */
static int chain_length(Run *r)
{
    int cut;
    r->count = r->count < CHAIN_MAX ? r->count : CHAIN_MAX;
    while (r->count >= r->least) {
        uint32_t before = r->spilled;
        if (assign_registers(r, &cut))
            return r->count;
        if (cut < r->count || before == r->spilled) {
            r->count = cut < r->count ? cut : r->count - 1;
            r->spilled = 0;
        }
    }
    return 0;
}

static void insert_step(Ctx *ctx, StageProgram *p, int at, StageStep new)
{
    if (p->steps == p->cap) {
        p->step = mem_realloc(ctx, p->step, (size_t)p->cap * sizeof *p->step,
                              (size_t)(2 * p->cap) * sizeof *p->step);
        p->cap *= 2;
    }
    memmove(p->step + at + 1, p->step + at, (size_t)(p->steps - at) * sizeof *p->step);
    p->step[at] = new;
    p->steps++;
    for (int l = new.level + 1; l <= p->levels; l++)
        p->first[l]++;
}

static void add_link(Ctx *ctx, StageProgram *p, StageLinkFn run)
{
    if (p->links == p->link_cap) {
        int cap = p->link_cap ? 2 * p->link_cap : 16;
        p->link = p->link ? mem_realloc(ctx, p->link, (size_t)p->link_cap * sizeof *p->link,
                                        (size_t)cap * sizeof *p->link)
                          : mem_alloc(ctx, (size_t)cap * sizeof *p->link);
        p->link_cap = cap;
    }
    p->link[p->links++] = (StageLink){ .run = run };
}

static LinkFrom operand(const StageStep *s, int k, bool strip)
{
    return s->in_register[k] ? FROM_REGISTER : strip ? FROM_MEMORY : FROM_NUMBER;
}

/* The function of a covered step whose operands x and y are strips or numbers. */
static StageLinkFn link_fn(const StageStep *s, bool x, bool y)
{
    const StageLinks *links = stage_kernels()->links[s->dtype];
    const LinkKind *kind = &link_of[s->op];
    if (s->args == 1)
        return links->unary[s->watched ? kind->watched : kind->op][s->at][operand(s, 0, x)];
    if (s->arg[0] == s->arg[1] && s->in_register[0])
        return links->twice[kind->op][s->at];
    return links->binary[kind->op][s->at][operand(s, 0, x)][operand(s, 1, y)];
}

static void add_links(Ctx *ctx, const StageCode *c, StageProgram *p, StageStep *s, int covers)
{
    const StageLinks *links = stage_kernels()->links[s->dtype];
    for (int i = 0; i < covers; i++, s++) {
        for (int k = 0; k < s->args; k++)
            s->number[k] = !s->in_register[k] && !c->value[s->arg[k]].strip;
        add_link(ctx, p, link_fn(s, !s->number[0], !s->number[1]));
        if (s->kept)
            add_link(ctx, p, links->keep[s->at]);
    }
    add_link(ctx, p, links->finish);
}

/* Places of operands in tensors are found before a run, which they would break. */
static void gather_directs(StageProgram *p, int level)
{
    for (int i = p->first[level], links = i; i < p->first[level + 1]; i++) {
        StageStep s = p->step[i];
        if (s.kind == STEP_DIRECT && s.arg[0] < 0) {
            memmove(p->step + links + 1, p->step + links, (size_t)(i - links) * sizeof s);
            p->step[links++] = s;
        } else if (s.kind != STEP_EW) {
            links = i + 1;
        }
    }
}

/* Nothing but places of operands, one chain and the store; does it keep more than the result? */
static bool is_one_chain(const StageProgram *p, bool *keeps)
{
    int i = p->first[1], chain;
    while (i < p->steps && p->step[i].kind == STEP_DIRECT)
        i++;
    chain = i;
    if (i == p->steps || p->step[i].kind != STEP_CHAIN || p->first[1] > 0)
        return false;
    i += p->step[chain].covers;
    *keeps = false;
    for (int k = chain + 1; k < i; k++)
        *keeps |= p->step[k].kept;
    return p->step[i].to_result && i + 2 == p->steps && p->step[i + 1].kind == STEP_STORE;
}

void stage_find_chains(Ctx *ctx, const StageCode *c, StageProgram *p)
{
    for (int level = 0; level < p->levels; level++) {
        gather_directs(p, level);
        for (int i = p->first[level]; i < p->first[level + 1]; i++) {
            StageStep *s = &p->step[i];
            Run r = { .c = c, .step = s, .end = p->step + p->steps,
                      .least = c->sweeps ? 1 : CHAIN_MIN };
            while (i + r.count < p->first[level + 1] && is_link(s + r.count, s->dtype))
                r.count++;
            int covers = chain_length(&r);
            if (covers == 0)
                continue;
            int link = p->links;
            add_links(ctx, c, p, s, covers);
            insert_step(ctx, p, i, (StageStep){ .kind = STEP_CHAIN, .level = level, .strip = true,
                .dtype = s->dtype, .bytes = s->bytes, .covers = (uint8_t)covers, .value = -1,
                .load = link, .links = (uint8_t)(p->links - link), .index = -1,
                .arg = { -1, -1, -1, -1 } });
            i += covers;
        }
    }
    p->sweeps = c->sweeps && p == &c->main && is_one_chain(p, &p->keeps);
}

/* ---- sweeping ----
 * Where a whole program is links and operands lie one behind the other, a chain goes over many
 * strips at a time. Its result goes from registers to where it lies, past the cache if it is large,
 * and nothing is asked for ahead: the machine sees the streams. */

static bool sweeps_node(const StageCode *c, const NestNode *node)
{
    const Nest *n = c->nest;
    int strip = c->main.strip;
    bool moves = node->free >> strip & 1;
    const NestLoad *l = node->kind == NEST_LOAD ? &n->load[node->slot] : NULL;
    DType root = (DType)n->node[n->root].dtype;
    if (!moves)
        return node->kind == NEST_CONST;
    if (l)
        return l->gathers == 0 && !c->pack[node->slot].used && l->stride[strip] == 1 &&
               l->dtype == root;
    return node->kind == NEST_EW && (DType)node->dtype == root &&
           stage_is_link((EwOp)node->op, node->args, (DType)node->compute, node->watch);
}

bool stage_may_sweep(const StageCode *c)
{
    const Nest *n = c->nest;
    const StageProgram *p = &c->main;
    if (p->strip < 0 || p->loops != 1 || p->loop[0].kind != LOOP_CHUNK || p->tile >= 0 ||
        c->groups || c->period || c->out_stride[p->strip] != 1 ||
        n->node[n->root].kind != NEST_EW)
        return false;
    for (int k = 0; k < n->nodes; k++)
        if (c->used[k] && !sweeps_node(c, &n->node[k]))
            return false;
    return true;
}

int64_t stage_sweep_length(const StageCode *c)
{
    return c->main.keeps ? c->main.strip_length : SWEEP_STRIPS * c->main.strip_length;
}

int stage_sweep_group(const StageCode *c)
{
    return stage_kernels()->links[c->nest->node[c->nest->root].dtype]->group;
}

/* ---- running them ---- */

/* Links with the places of this strip; numbers have links of their own. */
static void place_links(StageWork *w, const StageProgram *p, const StageStep *s, StageLink *link,
                        void *nan)
{
    int covers = s->covers;
    memcpy(link, p->link + s->load, (size_t)s->links * sizeof *link);
    s++;
    for (int i = 0; i < covers; i++, s++) {
        const StagePlace *x = &w->val[s->arg[0]], *y = s->args == 2 ? &w->val[s->arg[1]] : x;
        if (!s->in_register[0])
            link->x = x->at;
        if (!s->in_register[1])
            link->y = y->at;
        if ((!s->in_register[0] && s->number[0] == (x->stride != 0)) ||
            (!s->in_register[1] && s->number[1] == (y->stride != 0)))
            link->run = link_fn(s, x->stride, y->stride);
        if (s->watched)
            link->nan = nan;
        if (s->kept) {
            (++link)->to = stage_strip(w, s);
            w->val[s->value] = (StagePlace){ link->to, 1 };
        }
        link++;
    }
}

/* Elements from `done` on by the steps. */
static void run_rest(StageWork *w, const StageStep *s, int covers, int64_t done)
{
    for (int i = 0; i < covers; i++)
        w->val[s[i].value] = (StagePlace){ stage_strip(w, &s[i]), 1 };
    for (int i = 0; i < covers; i++, s++) {
        const void *in[2];
        int64_t stride[2];
        char *to = w->val[s->value].at + done * s->bytes;
        for (int k = 0; k < s->args; k++) {
            stride[k] = w->val[s->arg[k]].stride;
            in[k] = w->val[s->arg[k]].at + done * stride[k] * s->bytes;
        }
        s->kernel(to, 1, in, stride, w->n - done);
        if (s->watched && stage_makes_nan(s, to, in, stride, w->n - done))
            w->run->trouble = EWT_NAN;
    }
}

static const char none[CHAIN_VECTOR];

/* All groups of a chain that sweeps. Its root's link from registers to memory stands before that
 * which finishes, and goes elsewhere. */
static void sweep(StageWork *w, const StageLinks *links, const StageStep *s, StageLink *link,
                  int64_t bytes)
{
    const StageStep *root = s + s->covers;
    StageLink *last = &link[s->links - 2];
    StageFolding *f = w->run->folding;
    if (f) {
        _Alignas(CHAIN_VECTOR) char lanes[LANE_BYTES], nan[CHAIN_VECTOR] = { 0 };
        last->to = lanes;
        last->nan = nan;
        for (int k = 0; k < w->aheads; k++)
            *--link = (StageLink){ .run = links->ahead, .x = w->ahead[k] - bytes };
        last->run = links->into[f->fold][root->at];
        links->fold[f->fold](link, lanes, f->each, bytes / f->each, f->result);
        f->nan = memcmp(nan, none, sizeof nan) != 0;
        return;
    }
    last->to = w->run->out + stage_offset(w, w->c->out_term, w->c->out_terms);
    w->val[root->value] = (StagePlace){ last->to, 1 };
    if (w->run->stream && (uintptr_t)last->to % CHAIN_VECTOR == 0)
        last->run = links->past[root->at];
    if (w->aheads == 1)         /* of more streams the machine has enough to do */
        *--link = (StageLink){ .run = links->ahead, .x = w->ahead[0] - bytes };
    links->start(link, 0, bytes);
}

bool stage_run_chain(StageWork *w, const StageProgram *p, const StageStep *s, int pace)
{
    const StageLinks *links = stage_kernels()->links[s->dtype];
    StageLink room[AHEAD_MAX + 2 * CHAIN_MAX + 1], *link = room + AHEAD_MAX;
    int covers = s->covers, bytes = s->bytes, group = links->group;
    int64_t groups = w->n / group, lines = (int64_t)pace * covers, moved = 0;
    _Alignas(CHAIN_VECTOR) char nan[CHAIN_VECTOR] = { 0 };
    if (groups == 0)
        return false;
    place_links(w, p, s, link, nan);
    int64_t end = groups * group * bytes, burst = lines ? BURST : end;
    bool sweeps = p->sweeps && !(w->run->making && lines);
    if (sweeps)
        sweep(w, links, s, link, end);
    for (int64_t at = sweeps ? end : 0; at < end; at += burst) {
        int64_t to = at + burst < end ? at + burst : end;
        int some = (int)(lines * to / end - moved);
        links->start(link, at, to);
        moved += some;
        stage_fetch_ahead(w, some);
        if (w->store_left)
            stage_write_some(w, (size_t)some * 64);
    }
    if (memcmp(nan, none, sizeof nan) != 0)
        w->run->trouble = EWT_NAN;
    if (groups * group < w->n)
        run_rest(w, s + 1, covers, groups * group);
    return true;
}
