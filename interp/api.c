/* The embedding interface of libricci: a thin layer over run_text that turns every
 * error into a return value. It must not let a longjmp pass its caller. */
#include "interp/ricci.h"

#include "interp/interp.h"

#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

struct Ricci {
    Interp *in;
    Buf result, error;
};

API Ricci *ricci_open(void)
{
    Ricci *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->in = interp_new();
    buf_init(&r->result, &r->in->ctx);
    buf_init(&r->error, &r->in->ctx);
    return r;
}

API void ricci_close(Ricci *r)
{
    if (!r)
        return;
    buf_free(&r->result);
    buf_free(&r->error);
    interp_free(r->in);
    free(r);
}

API int ricci_eval(Ricci *r, const char *text)
{
    Guard guard;
    buf_clear(&r->result);
    buf_clear(&r->error);
    guard_enter(r->in, &guard);
    if (!ERR_TRY(&r->in->ctx, &guard.frame)) {
        guard_restore(r->in, &guard);
        err_render(&r->error, r->in->ctx.error);
        return 1;
    }
    Value v = run_text(r->in, r->in->main, "<text>", text, strlen(text));
    v_push(r->in, v);
    if (v.tag != V_NONE)
        show_value(r->in, &r->result, v);
    stack_cut(r->in, r->in->sp - 1);
    ERR_END(&r->in->ctx, &guard.frame);
    out_flush(r->in);
    return 0;
}

API const char *ricci_result(Ricci *r)
{
    return buf_cstr(&r->result);
}

API const char *ricci_error(Ricci *r)
{
    return buf_cstr(&r->error);
}
