/* Streams of random numbers as values, and independent ones of one. */
#include "builtins/arrays/making.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/state/stream.h"
#include "kernels/random/draw.h"

#include <sys/random.h>

Value op_run_stream(OpCall *c)
{
    uint64_t key = 0;
    if (arg_given(c, 0))
        key = (uint64_t)arg_int(c, 0);
    else if (getrandom(&key, sizeof key, 0) != sizeof key)
        key = (uint64_t)(uintptr_t)c;
    return stream_new(&c->in->ctx, key, 0);
}

Value op_run_streams(OpCall *c)
{
    enum { MOST = 1 << 24, AT_ONCE = 256 };
    Interp *in = c->in;
    int64_t n = arg_int(c, 0);
    if (n < 0 || n > MOST) {
        Error *e = err_new(&in->ctx, ERR_VALUE, "split: n = %lld, and it must be from 0 to 2^24",
                           (long long)n);
        err_help(e, "as in random.split(4)");
        e->example = true;
        err_throw(e);
    }
    Tuple *t = tuple_new(&in->ctx, (uint64_t)n);
    op_root(c, v_tuple(t));
    RngStream s = random_open(in);
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        uint64_t keys[AT_ONCE];
        int64_t some = n - i < AT_ONCE ? n - i : AT_ONCE;
        rng_split(&s, keys, some);
        for (int64_t k = 0; k < some; k++)
            t->items[i + k] = stream_new(&in->ctx, keys[k], 0);
        poll_interrupt(in);
    }
    random_close(in, &s);
    return v_retain(v_tuple(t));
}
