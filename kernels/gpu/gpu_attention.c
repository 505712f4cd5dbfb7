/* The text of attention on devices of generated source, and its launches: see gpu_attention.h. */
#include "kernels/gpu/gpu_attention.h"
#include "kernels/gpu/gpu_source.h"

#include "core/memory/pool.h"

#include <string.h>

/* ---- text ----
 * A group is 16 x 16 work items; on a processor, where an item is a thread, one. OWN rows meet
 * tiles of OTHER rows, RO and RT of each for a work item, SIDE apart; products of rows go STEPS
 * columns at a time through local memory. The weights of a tile stand in `s`; with them rows of z
 * are summed, COLS columns for a group, W for an item. Local memory is at most 32 KiB, which every
 * device of OpenCL's full profile has. */
enum { ITEMS = 16, STEPS = 16 };

static int side_of(unsigned caps) { return caps & DEVCAP_CPU ? 1 : ITEMS; }

static const char opencl_text[] =
    "#undef KERNEL\n"
    "#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))\n"
    "#define SHARED __local\n"
    "#if defined(FAST_F64) && defined(FP_FAST_FMA) || defined(FAST_F32) && "
    "defined(FP_FAST_FMAF) || defined(__FMA__)\n"
    "#define MAD(a, b, c) fma(a, b, c)\n#else\n#define MAD(a, b, c) ((a)*(b) + (c))\n#endif\n";

static const char cuda_text[] =
    "#undef KERNEL\n"
    "#define KERNEL extern \"C\" __global__ __launch_bounds__(THREADS)\n"
    "#define SHARED\n#define MAD(a, b, c) fma(a, b, c)\n";

static const char shared_text[] =
    "#define ROOM (STEPS*(OWN + OTHER + 2) > STEPS*COLS ? STEPS*(OWN + OTHER + 2) : STEPS*COLS)\n"
    "typedef struct { i64 axis[4], row, col; } Steps;\n"
    "typedef struct {\n"
    "    i64 first, last, own, other, depth, depth2, cols, left, right, shift, shares, logs;\n"
    "    i64 extent[4], kept[4], rows_kept, cols_kept;\n"
    "    Steps x, y, x2, y2, z, bias;\n"
    "} Job;\n"
    "#define AT(s) (h0*j.s.axis[0] + h1*j.s.axis[1] + h2*j.s.axis[2] + h3*j.s.axis[3])\n"
    "#define OPERAND(T, s) (GLOBAL const T *)(s##_ + s##_at) + AT(s)\n"
    "#define NUMBERS(s) ((GLOBAL A *)(s##_ + s##_at))\n"
    "#define LEAST(a, b) ((a) < (b) ? (a) : (b))\n"
    "#define SEEN(q, k) ((k) - (q) - j.shift >= -j.left && (k) - (q) - j.shift <= j.right)\n"
    /* One item adds rows to rows, in vectors; of many each keeps its sums in registers. */
    "#if THREADS == 1\n"
    "#define TIMES(c, r, t, many) for (int r = 0; r < RO; r++) for (int c = 0; c < STEPS; c++) \\\n"
    "    for (int t = 0; t < many; t++)\n"
    "#else\n"
    "#define TIMES(c, r, t, many) for (int c = 0; c < STEPS; c++) for (int r = 0; r < RO; r++) \\\n"
    "    for (int t = 0; t < many; t++)\n"
    "#endif\n"
    /* what is not seen is marked so in a tile of weights */
    "#define UNSEEN (-(A)0)\n#define IS_UNSEEN(x) ((x) == 0 && 1/(x) < 0)\n"
    "#define PARAMETERS \\\n"
    "    GLOBAL char *x_, u64 x_at, GLOBAL char *y_, u64 y_at, GLOBAL char *x2_, u64 x2_at, \\\n"
    "    GLOBAL char *y2_, u64 y2_at, GLOBAL char *z_, u64 z_at, \\\n"
    "    GLOBAL char *bias_, u64 bias_at, \\\n"
    "    GLOBAL char *lse_, u64 lse_at, GLOBAL char *rest_, u64 rest_at, \\\n"
    "    GLOBAL char *delta_, u64 delta_at, GLOBAL char *out_, u64 out_at, Job j, A scale\n"
    /* STEPS columns of rows, turned, with zeros where there are no more */
    "FN void fetch(SHARED A *to, int most, GLOBAL const S *x, i64 row, i64 col, int have,\n"
    "              i64 from, i64 depth, A by)\n"
    "{\n"
    "    for (int part = (int)ID(0); part < STEPS*most; part += THREADS) {\n"
    "        const int i = part / STEPS, c = part % STEPS;\n"
    "        to[c*(most + 1) + i] = i < have && from + c < depth\n"
    "                               ? by*(A)VALUE(x[i*row + (from + c)*col]) : (A)0;\n"
    "    }\n"
    "}\n"
    /* A macro: PoCL 3.1 dies of two calls of a function with a barrier. */
    "#define PRODUCTS(sc, x, x_row, x_col, own, x_by, y, y_row, y_col, other, y_by, depth) \\\n"
    "    for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) sc[r][t] = 0; \\\n"
    "    for (i64 d0 = 0; d0 < depth; d0 += STEPS) { \\\n"
    "        fetch(room, OWN, x, x_row, x_col, own, d0, depth, x_by); \\\n"
    "        fetch(room + STEPS*(OWN + 1), OTHER, y, y_row, y_col, other, d0, depth, y_by); \\\n"
    "        BARRIER; \\\n"
    "        TIMES(c, r, t, RT) \\\n"
    "            sc[r][t] = MAD(room[c*(OWN + 1) + ti + SIDE*r], \\\n"
    "                           room[STEPS*(OWN + 1) + c*(OTHER + 1) + tj + SIDE*t], \\\n"
    "                           sc[r][t]); \\\n"
    "        BARRIER; \\\n"
    "    }\n"
    /* e^(score - lse), of which lse lost a part when it was rounded */
    "#define WEIGHT(score, at) \\\n"
    "    (exp(score - (NUMBERS(lse)[at] == -(A)INFINITY ? (A)INFINITY : NUMBERS(lse)[at])) * \\\n"
    "     (1 - NUMBERS(rest)[at]))\n";

/* KEYS: own rows are keys, others queries. FORWARD: weights are e^(score - top), where the top only
 * rises, and what was summed before is scaled to it. SLOPES: weights are slopes of scores. */
static const char kernel_text[] =
    "KERNEL void attention(PARAMETERS)\n"
    "{\n"
    "    LOCAL A room[ROOM], s[OWN*(OTHER + 1)];\n"
    "    LOCAL A top[OWN], sum[OWN], by[OWN];\n"
    "    LOCAL int odd[1];\n"
    "    const int at = (int)ID(0), ti = at / SIDE, tj = at % SIDE;\n"
    "    const i64 wide = j.cols > COLS ? (j.cols + COLS - 1) / COLS : 1;\n"
    "    const i64 blocks = (j.own + OWN - 1) / OWN, queries = KEYS ? j.other : j.own;\n"
    "    for (i64 job = j.first + (i64)GROUP(0); job < j.last; job += (i64)GROUPS(0)) {\n"
    "        const i64 c0 = job % wide * COLS, o0 = job / wide % blocks * OWN;\n"
    "        const i64 head = job / wide / blocks;\n"
    "        const i64 h3 = head % j.extent[3], h2 = head / j.extent[3] % j.extent[2];\n"
    "        const i64 h01 = head / j.extent[3] / j.extent[2], h1 = h01 % j.extent[1];\n"
    "        const i64 h0 = h01 / j.extent[1];\n"
    "        GLOBAL const S *x = OPERAND(S, x) + o0*j.x.row, *x2 = OPERAND(S, x2) + o0*j.x2.row;\n"
    "        GLOBAL const S *y = OPERAND(S, y), *y2 = OPERAND(S, y2), *z = OPERAND(S, z);\n"
    "        GLOBAL const BIAS *bias = OPERAND(BIAS, bias);\n"
    "        const int own = (int)LEAST(j.own - o0, (i64)OWN);\n"
    "        i64 low = KEYS ? o0 - j.shift - j.right : o0 + j.shift - j.left;\n"
    "        i64 high = o0 + own + (KEYS ? j.left - j.shift : j.shift + j.right);\n"
    "        if (low < 0) low = 0;\n"
    "        if (high > j.other) high = j.other;\n"
    "        A acc[RO][W];\n"
    "        for (int r = 0; r < RO; r++) for (int w = 0; w < W; w++) acc[r][w] = 0;\n"
    "        for (int o = at; o < OWN; o += THREADS) { top[o] = -(A)INFINITY; sum[o] = 0; }\n"
    "        if (at == 0) odd[0] = 0;\n"
    "        BARRIER;\n"
    "        for (i64 t0 = low; t0 < high; t0 += OTHER) {\n"
    "            const int other = (int)LEAST(high - t0, (i64)OTHER);\n"
    "            A sc[RO][RT];\n"
    "            PRODUCTS(sc, x, j.x.row, j.x.col, own, KEYS ? (A)1 : scale,\n"
    "                     y + t0*j.y.row, j.y.row, j.y.col, other, KEYS ? scale : (A)1, j.depth);\n"
    "#if SLOPES\n"
    "            A dp[RO][RT];\n"
    "            PRODUCTS(dp, x2, j.x2.row, j.x2.col, own, (A)1, y2 + t0*j.y2.row,\n"
    "                     j.y2.row, j.y2.col, other, (A)1, j.depth2);\n"
    "#endif\n"
    "            for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) {\n"
    "                const i64 o = o0 + ti + SIDE*r, u = t0 + tj + SIDE*t;\n"
    "                const i64 q = KEYS ? u : o, k = KEYS ? o : u;\n"
    "                bool seen = ti + SIDE*r < own && tj + SIDE*t < other && SEEN(q, k);\n"
    "                ADD_BIAS(seen, sc[r][t], q*j.bias.row + k*j.bias.col)\n"
    "#if FORWARD\n"
    /* inf is what is not seen, nan what inf comes to */
    "                const A score = seen ? sc[r][t] : -(A)INFINITY;\n"
    "                sc[r][t] = !seen ? (A)INFINITY : score == (A)INFINITY ? (A)NAN : score;\n"
    "                s[(ti + SIDE*r)*(OTHER + 1) + tj + SIDE*t] = score;\n"
    "#else\n"
    "                if (seen) {\n"
    "                    const i64 row = head*queries + q;\n"
    "                    sc[r][t] = WEIGHT(sc[r][t], row);\n"
    "#if SLOPES\n"
    /* + 0: a product that is -0 is not one that is unseen */
    "                    sc[r][t] = sc[r][t]*(dp[r][t] - NUMBERS(delta)[row]) + (A)0;\n"
    "#endif\n"
    "                } else {\n"
    "                    sc[r][t] = UNSEEN;\n"
    "                }\n"
    "                s[(ti + SIDE*r)*(OTHER + 1) + tj + SIDE*t] = sc[r][t];\n"
    "#endif\n"
    "            }\n"
    "            BARRIER;\n"
    "#if FORWARD\n"
    "            for (int o = at; o < OWN; o += THREADS) {\n"
    "                const A was = top[o];\n"
    "                A now = was;\n"
    "                for (int t = 0; t < OTHER; t++) {\n"
    "                    const A score = s[o*(OTHER + 1) + t];\n"
    "                    now = score > now ? score : now;\n"
    "                }\n"
    "                top[o] = now;\n"
    "                by[o] = now == was ? (A)1 : exp(was - now);\n"
    "            }\n"
    "            BARRIER;\n"
    "            for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) {\n"
    "                const A most = top[ti + SIDE*r], base = most == -(A)INFINITY ? (A)0 : most;\n"
    "                s[(ti + SIDE*r)*(OTHER + 1) + tj + SIDE*t] =\n"
    "                    sc[r][t] == (A)INFINITY ? UNSEEN : exp(sc[r][t] - base);\n"
    "            }\n"
    "            BARRIER;\n"
    "            for (int o = at; o < OWN; o += THREADS) {\n"
    "                A total[4] = { 0, 0, 0, 0 };\n"
    "                for (int t = 0; t < OTHER; t++) total[t % 4] += s[o*(OTHER + 1) + t];\n"
    "                sum[o] = sum[o]*by[o] + ((total[0] + total[1]) + (total[2] + total[3]));\n"
    "            }\n"
    "#endif\n"
    /* what is added is summed by itself, which keeps errors of long sums small */
    "            A part[RO][W];\n"
    "            for (int r = 0; r < RO; r++) for (int w = 0; w < W; w++) part[r][w] = 0;\n"
    "            for (int k0 = 0; k0 < other; k0 += STEPS) {\n"
    "                for (int i = at; i < STEPS*COLS; i += THREADS) {\n"
    "                    const i64 k = k0 + i / COLS, c = c0 + i % COLS;\n"
    "                    const A v = k < other && c < j.cols\n"
    "                                ? (A)VALUE(z[(t0 + k)*j.z.row + c*j.z.col]) : (A)0;\n"
    "                    if (v - v != 0) odd[0] = 1;\n"
    "                    room[i] = v;\n"
    "                }\n"
    "                BARRIER;\n"
    /* What is not finite counts where it is seen, and there alone. */
    "                if (odd[0]) {\n"
    "                    for (int k = 0; k < STEPS; k++) for (int r = 0; r < RO; r++) {\n"
    "                        const A p = s[(ti + SIDE*r)*(OTHER + 1) + k0 + k];\n"
    "                        if (!IS_UNSEEN(p))\n"
    "                            for (int w = 0; w < W; w++)\n"
    "                                part[r][w] += p*room[k*COLS + tj + SIDE*w];\n"
    "                    }\n"
    "                } else {\n"
    "                    TIMES(k, r, w, W)\n"
    "                        part[r][w] = MAD(s[(ti + SIDE*r)*(OTHER + 1) + k0 + k],\n"
    "                                         room[k*COLS + tj + SIDE*w], part[r][w]);\n"
    "                }\n"
    "                BARRIER;\n"
    "            }\n"
    "            for (int r = 0; r < RO; r++) for (int w = 0; w < W; w++)\n"
    "                acc[r][w] = FORWARD ? acc[r][w]*by[ti + SIDE*r] + part[r][w]\n"
    "                                    : acc[r][w] + part[r][w];\n"
    "        }\n"
    "        for (int r = 0; r < RO; r++) for (int w = 0; w < W; w++) {\n"
    "            const int o = ti + SIDE*r;\n"
    "            const i64 c = c0 + tj + SIDE*w, to = (head*j.own + o0 + o)*j.cols + c;\n"
    "            if (o < own && c < j.cols)\n"
    "#if FORWARD\n"
    "                ((GLOBAL S *)(out_ + out_at))[to] =\n"
    "                    KEPT((sum[o] == 0 ? (A)0 : acc[r][w] / sum[o]));\n"
    "#else\n"
    "                NUMBERS(out)[to] = SLOPES ? scale*acc[r][w] : acc[r][w];\n"
    "#endif\n"
    "        }\n"
    "#if FORWARD\n"
    /* the sum of the two, and what it lost: Knuth, 4.2.2, theorem B */
    "        for (int o = at; o < own && j.logs && c0 == 0; o += THREADS) {\n"
    "            const A a = top[o], l = sum[o] == 0 ? -(A)INFINITY : log(sum[o]);\n"
    "            const A lse = sum[o] == 0 ? l : a + l, b = lse - a;\n"
    "            NUMBERS(lse)[head*j.own + o0 + o] = lse;\n"
    "            NUMBERS(rest)[head*j.own + o0 + o] =\n"
    "                lse - lse == 0 ? (a - (lse - b)) + (l - b) : (A)0;\n"
    "        }\n"
    "#endif\n"
    "        BARRIER;\n"
    "    }\n"
    "}\n";

/* Slopes of scores summed over what shares an element of the bias: heads, and all blocks of
 * queries or keys. */
static const char bias_text[] =
    "KERNEL void attention_bias(PARAMETERS)\n"
    "{\n"
    "    LOCAL A room[ROOM], s[OWN*(OTHER + 1)];\n"
    "    const int at = (int)ID(0), ti = at / SIDE, tj = at % SIDE;\n"
    "    const i64 down = j.rows_kept ? (j.own + OWN - 1) / OWN : 1;\n"
    "    const i64 across = j.cols_kept ? (j.other + OTHER - 1) / OTHER : 1;\n"
    "    const i64 rows = j.rows_kept ? j.own : 1, columns = j.cols_kept ? j.other : 1;\n"
    "    for (i64 job = j.first + (i64)GROUP(0); job < j.last; job += (i64)GROUPS(0)) {\n"
    "        const i64 tb = job % across, ob = job / across % down, b = job / across / down;\n"
    "        const i64 b3 = b % j.kept[3], b2 = b / j.kept[3] % j.kept[2];\n"
    "        const i64 b01 = b / j.kept[3] / j.kept[2], b1 = b01 % j.kept[1];\n"
    "        const i64 b0 = b01 / j.kept[1];\n"
    "        A acc[RO][RT];\n"
    "        for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) acc[r][t] = 0;\n"
    "        for (i64 share = 0; share < j.shares; share++) {\n"
    "            const i64 n3 = j.extent[3] / j.kept[3], n2 = j.extent[2] / j.kept[2];\n"
    "            const i64 n1 = j.extent[1] / j.kept[1], s01 = share / n3 / n2;\n"
    "            const i64 h3 = b3 + share % n3, h2 = b2 + share / n3 % n2, h1 = b1 + s01 % n1;\n"
    "            const i64 h0 = b0 + s01 / n1;\n"
    "            const i64 head = ((h0*j.extent[1] + h1)*j.extent[2] + h2)*j.extent[3] + h3;\n"
    "            GLOBAL const S *x = OPERAND(S, x), *x2 = OPERAND(S, x2);\n"
    "            GLOBAL const S *y = OPERAND(S, y), *y2 = OPERAND(S, y2);\n"
    "            GLOBAL const BIAS *bias = OPERAND(BIAS, bias);\n"
    "            for (i64 o0 = ob*OWN; o0 < (j.rows_kept ? ob*OWN + 1 : j.own); o0 += OWN)\n"
    "            for (i64 t0 = tb*OTHER; t0 < (j.cols_kept ? tb*OTHER + 1 : j.other);\n"
    "                 t0 += OTHER) {\n"
    "                const int own = (int)LEAST(j.own - o0, (i64)OWN);\n"
    "                const int other = (int)LEAST(j.other - t0, (i64)OTHER);\n"
    "                A sc[RO][RT], dp[RO][RT];\n"
    "                if (t0 > o0 + own - 1 + j.shift + j.right ||\n"
    "                    t0 + other - 1 < o0 + j.shift - j.left)\n"
    "                    continue;\n"
    "                PRODUCTS(sc, x + o0*j.x.row, j.x.row, j.x.col, own, scale,\n"
    "                         y + t0*j.y.row, j.y.row, j.y.col, other, (A)1, j.depth);\n"
    "                PRODUCTS(dp, x2 + o0*j.x2.row, j.x2.row, j.x2.col, own, (A)1,\n"
    "                         y2 + t0*j.y2.row, j.y2.row, j.y2.col, other, (A)1, j.depth2);\n"
    "                for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) {\n"
    "                    const i64 q = o0 + ti + SIDE*r, k = t0 + tj + SIDE*t;\n"
    "                    const i64 row = head*j.own + q;\n"
    "                    bool seen = ti + SIDE*r < own && tj + SIDE*t < other && SEEN(q, k);\n"
    "                    ADD_BIAS(seen, sc[r][t], q*j.bias.row + k*j.bias.col)\n"
    "                    if (seen)\n"
    "                        acc[r][t] += WEIGHT(sc[r][t], row)*(dp[r][t] - NUMBERS(delta)[row]);\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "        for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++)\n"
    "            s[(ti + SIDE*r)*(OTHER + 1) + tj + SIDE*t] = acc[r][t];\n"
    "        BARRIER;\n"
    "        GLOBAL A *to = NUMBERS(out) + b*rows*columns;\n"
    "        if (j.rows_kept && j.cols_kept) {\n"
    "            for (int r = 0; r < RO; r++) for (int t = 0; t < RT; t++) {\n"
    "                const i64 q = ob*OWN + ti + SIDE*r, k = tb*OTHER + tj + SIDE*t;\n"
    "                if (q < rows && k < columns) to[q*columns + k] = acc[r][t];\n"
    "            }\n"
    "        } else if (j.rows_kept) {\n"
    "            for (int o = at; o < OWN && ob*OWN + o < rows; o += THREADS) {\n"
    "                A total = 0;\n"
    "                for (int t = 0; t < OTHER; t++) total += s[o*(OTHER + 1) + t];\n"
    "                to[ob*OWN + o] = total;\n"
    "            }\n"
    "        } else {\n"
    "            for (int t = at; t < OTHER && tb*OTHER + t < columns; t += THREADS) {\n"
    "                A total = 0;\n"
    "                for (int o = 0; o < OWN; o++) total += s[o*(OTHER + 1) + t];\n"
    "                to[tb*OTHER + t] = total;\n"
    "            }\n"
    "        }\n"
    "        BARRIER;\n"
    "    }\n"
    "}\n";

/* ---- what a text follows from ---- */
enum { COLS_MOST = 128 };

typedef struct Shape {
    DType dt;
    int part, biased;
    int side;                               /* of a group, in work items */
    int cols;                               /* columns of a group */
} Shape;

int gpu_attention_tile(DType dt) { return gpu_runs_in(dt) == DT_F64 ? 32 : 64; }

int64_t gpu_attention_room(DType dt)
{
    int64_t tile = gpu_attention_tile(dt), most = COLS_MOST;
    int64_t room = 2 * (tile + 1) > most ? 2 * (tile + 1) : most;
    return (STEPS * room + tile * (tile + 1) + 3 * tile + 1) *
           dtype_info(gpu_runs_in(dt))->bytes;
}

bool gpu_attention_takes(const Device *d, DType dt, Lack *why)
{
    *why = (Lack){ LACK_GROUP };
    return (!d->group || d->group >= ITEMS * ITEMS) &&
           (!d->local || d->local >= (size_t)gpu_attention_room(dt));
}

static void write_bias(Buf *b, const Shape *s)
{
    static const char *const texts[] = {
        [BIAS_NONE] = "#define BIAS u8\n#define ADD_BIAS(seen, x, at)\n",
        [BIAS_BOOL] = "#define BIAS u8\n#define ADD_BIAS(seen, x, at) "
                      "if (seen) seen = bias[at] != 0;\n",
        [BIAS_ADDS] = "#define BIAS S\n#define ADD_BIAS(seen, x, at) "
                      "if (seen) x += (A)VALUE(bias[at]);\n",
    };
    buf_puts(b, texts[s->biased]);
}

static void write_attention(Ctx *ctx, Buf *b, unsigned caps, const Shape *s)
{
    GpuForm form = { .n = NULL };
    DType real = gpu_runs_in(s->dt);
    GpuSource source = { .ctx = ctx, .form = &form, .caps = caps,
                         .seen = 1u << s->dt | 1u << real };
    bool half = real != s->dt;
    gpu_prelude(&source, b);
    buf_printf(b, "#define S %s\n#define A %s\n", gpu_stored(s->dt), gpu_type(real));
    buf_printf(b, half ? "#define VALUE(x) %s_value(x)\n" : "#define VALUE(x) x\n",
               dtype_name(s->dt));
    buf_printf(b, half ? "#define KEPT(x) %s_bits(x)\n" : "#define KEPT(x) x\n", dtype_name(s->dt));
    buf_printf(b, "#define SIDE %d\n#define THREADS %d\n#define STEPS %d\n#define OWN %d\n"
               "#define OTHER OWN\n#define RO (OWN / SIDE)\n#define RT (OTHER / SIDE)\n"
               "#define COLS %d\n#define W (COLS / SIDE)\n#define FAST_%s\n",
               s->side, s->side * s->side, STEPS, gpu_attention_tile(s->dt), s->cols,
               real == DT_F64 ? "F64" : "F32");
    buf_printf(b, "#define FORWARD %d\n#define KEYS %d\n#define SLOPES %d\n",
               s->part == ATTENTION_OUT, s->part == ATTENTION_DK || s->part == ATTENTION_DV,
               s->part == ATTENTION_DQ || s->part == ATTENTION_DK);
    write_bias(b, s);
    buf_puts(b, caps & DEVCAP_CUDA ? cuda_text : opencl_text);
    buf_puts(b, shared_text);
    buf_puts(b, s->part == ATTENTION_DBIAS ? bias_text : kernel_text);
}

static const GpuKernel *kernel_of(Ctx *ctx, Device *d, const Shape *s)
{
    const char key[] = { 'a', 't', 't', 'e', 'n', (char)s->dt, (char)s->part, (char)s->biased,
                         (char)s->side, (char)(s->cols / ITEMS) };
    const GpuKernel *kernel = gpu_find(d, key, sizeof key);
    if (kernel)
        return kernel;
    Buf text;
    buf_init(&text, ctx);
    write_attention(ctx, &text, d->caps, s);
    kernel = gpu_build(ctx, d, key, sizeof key, buf_cstr(&text),
                       s->part == ATTENTION_DBIAS ? "attention_bias" : "attention", NULL, 0);
    buf_free(&text);
    return kernel;
}

/* ---- launches ---- */
/* As the kernel has it. */
typedef struct Job {
    int64_t first, last, own, other, depth, depth2, cols, left, right, shift, shares, logs;
    int64_t extent[GPU_HEAD_AXES], kept[GPU_HEAD_AXES], rows_kept, cols_kept;
    GpuSteps x, y, x2, y2, z, bias;
} Job;

static int64_t blocks_of(int64_t n, int64_t of) { return (n + of - 1) / of; }

/* A launch cannot be stopped, and a screen's driver ends one that takes seconds: those of a
 * processor take tenths, others as long, but for groups enough for the greatest devices. */
static int64_t groups_at_once(Ctx *ctx, const Device *d, const Job *j)
{
    bool processor = d->caps & DEVCAP_CPU;
    double work = 128.0 * (double)j->other * (double)(j->depth + j->depth2 + j->cols + 1);
    double most = (processor ? 1e9 : 1e12) / (work + 1);
    double least = processor ? pool_threads(ctx) : 1024;
    return most < least ? (int64_t)least : most > 65535 ? 65535 : (int64_t)most;
}

static Job job_of(const GpuAttention *a, GpuAttentionPart part, const GpuHeads *operand[5])
{
    bool keys = part == ATTENTION_DK || part == ATTENTION_DV;
    const GpuHeads *last = part == ATTENTION_OUT ? &a->v : part == ATTENTION_DQ ? &a->k
                         : part == ATTENTION_DV ? &a->w : &a->q;
    const GpuHeads *of[5] = { keys ? &a->k : &a->q, keys ? &a->q : &a->k, keys ? &a->v : &a->w,
                              keys ? &a->w : &a->v, last };
    if (part == ATTENTION_OUT)              /* there is no w */
        of[2] = of[3] = &a->v;
    memcpy(operand, of, sizeof of);
    bool by_v = part == ATTENTION_OUT || part == ATTENTION_DV;
    Job j = { .own = keys ? a->m : a->n, .other = keys ? a->n : a->m, .depth = a->d,
              .depth2 = a->e, .cols = by_v ? a->e : a->d, .left = a->left, .right = a->right,
              .shift = a->shift, .shares = 1, .logs = a->logs, .rows_kept = a->rows,
              .cols_kept = a->cols, .x = of[0]->step, .y = of[1]->step, .x2 = of[2]->step,
              .y2 = of[3]->step, .z = of[4]->step, .bias = a->bias.step };
    for (int i = 0; i < GPU_HEAD_AXES; i++) {
        j.extent[i] = a->extent[i];
        j.kept[i] = a->kept[i] ? a->extent[i] : 1;
    }
    return j;
}

/* Groups of the bias' gradient, and how many heads share an element of it. */
static int64_t bias_jobs(const GpuAttention *a, Job *j, int tile)
{
    int64_t own = 1;
    for (int i = 0; i < GPU_HEAD_AXES; i++)
        own *= j->kept[i];
    if (own == 0)
        return 0;
    j->shares = a->heads / own;
    return own * (a->rows ? blocks_of(a->n, tile) : 1) * (a->cols ? blocks_of(a->m, tile) : 1);
}

static int cols_of(int64_t cols) { return cols <= 32 ? 32 : cols <= 64 ? 64 : COLS_MOST; }

void gpu_attention(Ctx *ctx, Device *d, const GpuAttention *a, GpuAttentionPart part,
                   const DevArg *out)
{
    const GpuHeads *of[5];
    Job j = job_of(a, part, of);
    int tile = gpu_attention_tile(a->dt);
    Shape shape = { a->dt, (int)part, (int)a->biased, side_of(d->caps),
                    cols_of(part == ATTENTION_DBIAS ? 0 : j.cols) };
    int64_t wide = j.cols > shape.cols ? blocks_of(j.cols, shape.cols) : 1;
    int64_t jobs = part == ATTENTION_DBIAS ? bias_jobs(a, &j, tile)
                                           : a->heads * blocks_of(j.own, tile) * wide;
    if (jobs == 0)
        return;
    device_open(ctx, d);
    const GpuKernel *kernel = kernel_of(ctx, d, &shape);
    bool wide_real = gpu_runs_in(a->dt) == DT_F64, logs = part != ATTENTION_OUT || a->logs;
    float scale = (float)a->scale;
    DevArg bias = a->biased ? a->bias.at : of[0]->at, lse = logs ? a->lse : *out,
           rest = logs ? a->rest : *out, delta = part == ATTENTION_OUT ? *out : a->delta;
    DevArg arg[] = {
        of[0]->at, of[1]->at, of[2]->at, of[3]->at, of[4]->at, bias, lse, rest, delta, *out,
        { .value = &j, .bytes = sizeof j },
        { .value = wide_real ? (const void *)&a->scale : &scale, .bytes = wide_real ? 8 : 4 },
    };
    int64_t step = groups_at_once(ctx, d, &j);
    for (j.first = 0; j.first < jobs; j.first += step) {
        j.last = jobs - j.first < step ? jobs : j.first + step;
        DevGrid grid = { .groups = { (size_t)(j.last - j.first), 1, 1 },
                         .local = { (size_t)(shape.side * shape.side), 1, 1 } };
        gpu_launch(ctx, d, kernel, &grid, arg, (int)(sizeof arg / sizeof *arg));
    }
}
