/* The interpreter's state: the value stack, catch points, error places (interp.c). Everything hangs
 * off Interp; its first member is the Ctx that lower layers know. life.h makes it. */
#ifndef RICCI_INTERP_INTERP_H
#define RICCI_INTERP_INTERP_H

#include "core/base/error.h"
#include "core/system/tempdir.h"
#include "interp/state/value.h"
#include "kernels/device/lack.h"
#include "kernels/random/rng.h"

typedef struct Exec Exec;             /* an executable node: interp/state/exec.h */
typedef struct Lower Lower;           /* lowering: interp/lower/lower.h */
typedef const Exec *(*LowerFn)(Lower *, const Node *);

struct Function {
    uint32_t refs;
    uint32_t captured;
    uint64_t serial;                  /* no other has it, also none that comes to its place */
    const struct FnCode *code;        /* lowered once per syntax node, lives in the chunk */
    Chunk *chunk;                     /* retained */
    /* whose globals it reads; borrowed: modules live as long as Interp */
    Module *module;
    Value values[];                   /* captured */
};

struct Module {
    uint32_t refs;
    const char *name;                 /* "main", "stats", a path */
    Globals globals;
    Value *slots;                     /* reserved address space: see module_room */
    uint32_t slot_cap;
    bool fixed;                       /* code points into its slots: they stay where they are */
    uint8_t *assigned;                /* by slot: lowered code assigns it, so it is no builtin */
    const char **docs;                /* by slot: `##` text above an assignment, or NULL */
    struct ModuleTest **tests; uint32_t test_count, test_cap;   /* in order */
    /* retained: docs and tests point there */
    struct Chunk **chunks; uint32_t chunk_count, chunk_cap;
    Source *source;                   /* where it was imported from; NULL for main */
    bool done;                        /* its statements have run */
    Module *next;
};

/* What a variable of the frame holds has been handed over, and it is empty: what it was, for the
 * trace of an error. On the C stack of who did that. */
enum { HANDED_MAX = 4, HANDED_RANK = 6 };
typedef struct Handed {
    int count;
    struct HandedOne {
        const Value *slot;
        uint8_t tag, rank;
        uint32_t dtype;
        int64_t shape[HANDED_RANK];
    } of[HANDED_MAX];
} Handed;

typedef struct CallFrame {            /* one running Ricci function */
    struct CallFrame *up;
    const Function *fn;
    const Exec *site;                 /* the call */
    Value *args; uint32_t argc;       /* for the trace */
    Source *source;                   /* fn NULL: top-level code of `module` */
    Module *module;
    const Handed *handed;             /* of its variables; NULL: nothing */
} CallFrame;

/* What format("latex") and so on set: how numbers and tensors are written. */
typedef enum ShowStyle { SHOW_PLAIN, SHOW_LATEX, SHOW_FRACTION, SHOW_FULL, SHOW_HEX } ShowStyle;

typedef struct ShowOptions {
    int digits;                       /* significant digits of matrices, 5 at first */
    ShowStyle style;
    bool dots;                        /* structural zeros of a matrix are written · */
    int width, height;                /* terminal cells; 0: not a terminal */
    bool color;
    bool text_only;          /* format("plain") was asked for: no LaTeX beside a text */
    bool inside;             /* of a tuple: a vector stays on its line */
} ShowOptions;

struct Interp {
    Ctx ctx;                          /* first */
    Value *stack, *sp, *stack_end;    /* the value stack: reserved, committed as used */
    Value *fp;                        /* frame of the running function or module */
    const Exec *at;                   /* what runs now, for error places */
    CallFrame *calls;
    const struct HotHooks *hot;       /* who makes machine code of loops: hot.h; NULL: nobody */
    uint64_t functions;               /* made so far */
    struct HotWorker *hot_worker;     /* its thread, once there was a hot loop */
    bool hot_opened;                  /* LLVM is open there */
    bool leaves;                      /* the process ends with it: nobody waits for that thread, */
    bool left;                        /* which still runs: by _exit then, its memory stays */
    struct Scope *scope;              /* the innermost precision or autocast scope, or NULL */
    struct DeviceBlock *place;              /* the innermost device block, or NULL */
    struct Tape *tape;                /* the innermost derivative being taken, or NULL */
    int deaf;                         /* tapes of this level and above hear of no call; 0: all do */
    uint64_t boxes;                   /* traced values: nobody looks for them while there is none */
    /* where leaves of functions that index notation inlines go for whoever records it, or NULL */
    Tuple *inlined;
    int rules;                        /* that run: what they compare is no branch of the program */
    const struct Traces *traces;      /* what is done with them: traced.h */
    const struct Shadows *shadows;    /* lost digits: likewise */
    struct Gradients *gradients;      /* rules of derivatives, once one was needed */
    /* 1: what runs now stands in a `lazy` block; -1: and blocks in it do nothing (deferred.h) */
    int deferring;
    struct LazyState *lazy;           /* what waits there; NULL until there was one */
    const struct Deferrals *deferrals;
    void (*unwound)(Interp *);        /* an error took away blocks in which something waits */
    struct PlaceListener *listener;   /* who hears what ran and what moved, or NULL */
    bool strict_devices;              /* --strict-devices: every device block is strict */
    Lack lack;                        /* why a form refused: place_refuse */
    Value result;                     /* of a V_FLOW return on its way out */
    uint8_t flow;                     /* FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN */
    Names names;
    Module *modules, *main, *module;  /* all, the program's, the running one */
    ShowOptions show;
    /* stdout, flushed at exit, on newline to a terminal, before stderr */
    Buf out;
    bool out_failed;                  /* > /dev/full: exit 1 */
    /* | head: nobody reads any more, the program ends without a word */
    bool out_closed;
    bool out_mute;                    /* a reference of `compare` runs: nothing is written */
    bool no_notices;                  /* --no-notices, notices(false) */
    const char *out_heading;          /* the entry of `compare` that writes, until it did once */
    struct Solved *solved;            /* who hears of solutions (`compare`), or NULL */
    struct OpTable *ops;              /* the registry, by name */
    struct { uint64_t key[2], counter; } rng;
    RngAhead ahead;                   /* of its numbers */
    TempDir tempdir;                  /* what tempdir() names, once it was asked for */
    /* more folders to find files and modules in, up to NULL; NULL: none */
    const char *const *look_in;
    int argc; char **argv;            /* of the program: args() */
    bool interactive;
    bool errors_end;                  /* an error ends the program, of main nobody sees more */
    Value ans;
    Buf scratch;                      /* text being made by the evaluator; cleared before use */
    Tuple *constants;                 /* literals in the formats of scopes (eval_scope.c) */
    Error *caught; Value caught_value;/* the last error a `catch` took: `throw e` throws it again */
    InterruptFlag no_interrupt;  /* what ctx.interrupt points to until a program sets it */
    struct Explain *explain;          /* who listens to operations, or NULL */
    struct Fuse *fuse;                /* plans of elementwise chains that ran lately, or NULL */
    struct NativeState *native;       /* libraries, callbacks, pins: native.h; NULL until needed */
    unsigned pins;                    /* variables that are pinned: pinned.h */
    /* the variable that the call at taken_at takes: exec_taken */
    Value *taken; const Exec *taken_at;
    /* rooms that the evaluator does without: wing.h; up to a NULL */
    const struct Wing *const *wings;
    /* build_vector: a tuple of numbers as a tensor is one */
    Value (*vector)(Interp *, const Value *items, int n);
    LowerFn lowers[ND_KINDS];         /* their rows by kind of node; NULL: no room has one */
    /* the program around libricci: output.h; NULL: there is none */
    struct Host *host;
    char **notices; uint32_t notice_count, notice_cap;   /* that were shown: each is shown once */
    /* who checks the help of errors: fixes.h; NULL until needed */
    struct Fixes *fixes;
    /* running `try` blocks: the help of an error is not seen there */
    int tries;
};

enum { FLOW_NONE, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };

/* ---- the value stack: what is pushed survives errors; cutting releases it ---- */
static inline void v_push(Interp *in, Value v) { *in->sp++ = v; }
void stack_cut(Interp *, Value *mark);     /* releases down to mark */
void stack_room(Interp *, size_t values);            /* raises `memory` when they do not fit */
/* Cuts the value stack to `mark` without a call when it holds scalars. */
static inline void stack_drop(Interp *in, Value *mark)
{
    assert(mark >= in->stack && mark <= in->sp);
    while (in->sp > mark)
        v_release(&in->ctx, *--in->sp);
}

/* A catch point that also restores the interpreter's state: value stack, frame, calls. */
typedef struct Guard {
    ErrFrame frame;
    Value *sp, *fp;
    const Exec *at;
    CallFrame *calls;
    Module *module;
    struct Scope *scope;
    struct DeviceBlock *place;
    struct PlaceListener *listener;
    struct Tape *tape;
    int deaf;
    Tuple *inlined;
    int rules;
    int deferring;
} Guard;
void guard_enter(Interp *, Guard *);
void guard_restore(Interp *, Guard *);     /* in the else branch of ERR_TRY */

void poll_interrupt_slow(Interp *);
static inline void poll_interrupt(Interp *in) { if (__builtin_expect(*in->ctx.interrupt,
    0)) poll_interrupt_slow(in); }

void interp_seed(Interp *);                /* random numbers from the system from now on */

/* ---- the C stack ---- */
_Noreturn void raise_too_deep(Interp *);
static inline void stack_check(Interp *in)
{
    if (__builtin_expect((char *)__builtin_frame_address(0) < in->ctx.stack_limit, 0))
        raise_too_deep(in);
}

/* ---- error places ---- */
void interp_locate(Ctx *, Where *);        /* Ctx.locate: what runs now */
void where_leave_stdlib(Interp *, Where *);

#endif
