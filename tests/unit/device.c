/* Tensors on devices, below the language: which copies are valid, what is copied when, what is
 * dropped for room, what the host's side of an absent tensor holds, counts. */
#include "kernels/backends/backends.h"
#include "kernels/device/device.h"
#include "tests/unit/check.h"

static Ctx *ctx;
static Device *mps, *tpu, *small;
static uint64_t heard_bytes, heard_copies;

static void heard(Ctx *c, const Device *from, const Device *to, size_t bytes, double seconds)
{
    (void)c;
    CHECK(from != to && seconds >= 0);
    heard_bytes += bytes;
    heard_copies++;
}

static Tensor *numbers(int64_t n, float first)
{
    Tensor *t = tensor_new(ctx, DT_F32, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ((float *)t->data)[i] = first + (float)i;
    return t;
}

static uint64_t copies(void) { return mps->counts.up + mps->counts.down; }

static void test_ensure(void)
{
    Tensor *t = numbers(100, 0);
    size_t at;
    uint64_t before = copies();
    device_begin(ctx);
    CHECK(tensor_device(ctx, t) == ctx->devices->cpu && !device_has(mps, t));
    device_ensure(ctx, mps, t, &at);
    device_ensure(ctx, mps, t, &at);
    CHECK(at == 0 && copies() == before + 1 && device_has(mps, t) && !tensor_away(t));
    CHECK(mps->live == 400 && tensor_device(ctx, t) == ctx->devices->cpu);
    int64_t ten = 10, step = -2;
    Tensor *view = tensor_view(ctx, t, 1, &ten, &step, t->data + 50 * 4);
    device_ensure(ctx, mps, view, &at);
    CHECK(at == 200 && copies() == before + 1);
    Tensor *shadow = sim_shadow(ctx, mps, view);
    CHECK(((float *)shadow->data)[0] == 50 && ((float *)shadow->data)[-2] == 48 &&
          shadow->data != view->data);
    tensor_release(ctx, shadow);
    device_stale(ctx, t->buffer);                       /* the host writes */
    CHECK(!device_has(mps, t) && mps->live == 0 && t->buffer->device == NULL);
    ((float *)t->data)[50] = 7;
    shadow = sim_shadow(ctx, mps, view);
    CHECK(((float *)shadow->data)[0] == 7 && copies() == before + 2);
    tensor_release(ctx, shadow);
    tensor_release(ctx, view);
    tensor_release(ctx, t);
    CHECK(mps->live == 0);
}

static void test_made_there(int64_t n)
{
    Tensor *t = device_tensor_new(ctx, mps, DT_F32, 1, &n);
    uint64_t before = copies();
    CHECK(tensor_device(ctx, t) == mps && tensor_away(t) && mps->live == (size_t)n * 4);
    Tensor *shadow = sim_shadow(ctx, mps, t);
    for (int64_t i = 0; i < n; i++)
        ((float *)shadow->data)[i] = (float)i;
    device_wrote(ctx, mps, t);
    float one = 0;
    device_get_element(ctx, t, t->data + 4 * (n - 1), &one);
    CHECK(one == (float)(n - 1) && tensor_away(t) && copies() == before + 1);
    tensor_home(ctx, t);
    tensor_home(ctx, t);
    CHECK(((float *)t->data)[n / 2] == (float)(n / 2) && copies() == before + 2 &&
          device_has(mps, t));
    device_wrote(ctx, mps, t);                          /* what the host had goes */
    CHECK(tensor_away(t));
    Tensor *moved = device_move(ctx, tpu, t), *same = device_move(ctx, tpu, moved);
    CHECK(same == moved && tensor_device(ctx, moved) == tpu && tensor_device(ctx, t) == mps);
    Tensor *home = device_move(ctx, ctx->devices->cpu, moved);
    CHECK(((float *)home->data)[n - 1] == (float)(n - 1) &&
          tensor_device(ctx, home) == ctx->devices->cpu);
    Tensor *all[] = { home, same, moved, shadow, t };
    for (int i = 0; i < 5; i++)
        tensor_release(ctx, all[i]);
    CHECK(mps->live == 0 && tpu->live == 0);
}

/* What is on the device already is not sent again. */
static void test_move_within(void)
{
    int64_t shape[2] = { 3, 4 }, turned[2] = { 4, 3 }, step[2] = { 1, 4 };
    Tensor *t = tensor_new(ctx, DT_F32, 2, shape);
    for (int i = 0; i < 12; i++)
        ((float *)t->data)[i] = (float)i;
    size_t at;
    device_ensure(ctx, mps, t, &at);
    uint64_t before = copies();
    Tensor *view = tensor_view(ctx, t, 2, turned, step, t->data),
           *moved = device_move(ctx, mps, view);
    CHECK(copies() == before && tensor_contiguous(moved) && tensor_device(ctx, moved) == mps);
    tensor_home(ctx, moved);
    CHECK(((float *)moved->data)[1] == 4 && ((float *)moved->data)[11] == 11);
    tensor_release(ctx, moved);
    tensor_release(ctx, view);
    tensor_release(ctx, t);
}

static void test_take(void)
{
    Tensor *t = numbers(8, 1);
    const char *data = t->data;
    uint64_t before = copies();
    t = sim_take(ctx, mps, t);
    CHECK(copies() == before && tensor_away(t) && mps->live == 32 && t->data != data);
    tensor_home(ctx, t);
    CHECK(((float *)t->data)[7] == 8);
    tensor_release(ctx, t);
    Tensor *held = numbers(8, 1);
    t = sim_take(ctx, mps, tensor_retain(held));        /* somebody else has it: a copy */
    ((float *)held->data)[0] = 99;
    tensor_home(ctx, t);
    CHECK(((float *)t->data)[0] == 1);
    tensor_release(ctx, t);
    int64_t two = 2, step = 3;
    t = sim_take(ctx, mps, tensor_view(ctx, held, 1, &two, &step, held->data + 4));
    tensor_home(ctx, t);
    CHECK(((float *)t->data)[1] == 5 && mps->live == 8);
    tensor_release(ctx, t);
    tensor_release(ctx, held);
    CHECK(mps->live == 0);
}

static void test_empty(void)
{
    int64_t shape[2] = { 0, 3 };
    uint64_t before = copies();
    Tensor *t = device_tensor_new(ctx, mps, DT_F64, 2, shape), *s = sim_shadow(ctx, mps, t);
    CHECK(s->size == 0 && mps->live == 0);
    tensor_home(ctx, t);
    CHECK(copies() == before);
    tensor_release(ctx, s);
    Tensor *u = device_move(ctx, tpu, t);
    CHECK(tensor_device(ctx, u) == tpu && tpu->live == 0);
    tensor_release(ctx, u);
    tensor_release(ctx, t);
}

/* 1000 bytes: copies that lie elsewhere too go, the oldest first, but not the running
 * operation's. */
static void test_room(void)
{
    size_t at;
    Tensor *a = numbers(100, 0), *b = numbers(100, 1), *c = numbers(100, 2);
    device_begin(ctx);
    device_ensure(ctx, small, a, &at);
    device_begin(ctx);
    device_ensure(ctx, small, b, &at);
    device_begin(ctx);
    device_ensure(ctx, small, a, &at);                  /* used last */
    device_begin(ctx);
    device_ensure(ctx, small, c, &at);
    CHECK(device_has(small, a) && !device_has(small, b) && device_has(small, c) &&
          small->live == 800);
    CHECK_RAISES(ctx, ERR_MEMORY,
                 (device_ensure(ctx, small, a, &at), device_ensure(ctx, small, b, &at)));
    CHECK(device_has(small, a) && device_has(small, c) && small->live == 800);
    CHECK(strstr(ctx->error->message, "400 bytes") && strstr(ctx->error->message, "800 bytes"));
    err_free(ctx->error);
    ctx->error = NULL;
    int64_t n = 120;
    device_begin(ctx);
    Tensor *only = device_tensor_new(ctx, small, DT_F32, 1, &n);
    CHECK(small->live == 880);
    device_begin(ctx);
    CHECK_RAISES(ctx, ERR_MEMORY, device_tensor_new(ctx, small, DT_F64, 1, &n));
    CHECK(device_has(small, only) && small->live == 480);     /* what lies only there stays */
    err_free(ctx->error);
    ctx->error = NULL;
    CHECK_RAISES(ctx, ERR_MEMORY,
                 device_tensor_new(ctx, small, DT_F64, 1, &(int64_t){ INT64_MAX / 16 }));
    err_free(ctx->error);
    ctx->error = NULL;
    Tensor *all[] = { a, b, c, only };
    for (int i = 0; i < 4; i++)
        tensor_release(ctx, all[i]);
    CHECK(small->live == 0 && small->peak == 880);
}

static void test_counts(void)
{
    uint64_t bytes = heard_bytes, n = heard_copies;
    Tensor *t = numbers(25, 0), *u = device_move(ctx, mps, t);
    device_carry(ctx, mps, 8);
    CHECK(heard_bytes == bytes + 108 && heard_copies == n + 2);
    double seconds = device_model_seconds(mps, 100e9, 0);
    CHECK(seconds > 1 && seconds < 1.001 && device_model_seconds(mps, 0, 2e12) > 1);
    CHECK(device_lacks(mps, "svd") && !device_lacks(mps, "inv") &&
          !device_lacks(ctx->devices->cpu, "svd"));
    tensor_release(ctx, u);
    tensor_release(ctx, t);
    CHECK(!ctx->remote && ctx->devices->oldest == NULL);
}

int main(void)
{
    static Ctx context;
    static InterruptFlag never;
    ctx = &context;
    mem_init(ctx);
    ctx->interrupt = &never;
    devices_init(ctx, device_backends);
    ctx->devices->copied = heard;
    mps = device_find(ctx, "sim.mps");
    tpu = device_find(ctx, "sim.tpu");
    small = device_add(ctx, &sim_ops, "sim.small");
    *small = (Device){ .ops = &sim_ops, .name = "sim.small", .caps = DEVCAP_SIM, .dtypes = ~0u,
                       .product = DT_NONE,
                       .memory = 1000, .state = ctx };
    test_ensure();
    test_made_there(10);
    test_made_there(100000);                            /* a mapping */
    test_move_within();
    test_take();
    test_empty();
    test_room();
    test_counts();
    devices_free(ctx);
    mem_shutdown(ctx);
    return check_result();
}
