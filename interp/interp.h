/* The interpreter's state and what its parts call of each other. Everything hangs off
 * Interp; its first member is the Ctx that lower layers know. */
#ifndef RICCI_INTERP_INTERP_H
#define RICCI_INTERP_INTERP_H

#include "core/error.h"
#include "core/tempdir.h"
#include "interp/value.h"

typedef struct Exec Exec;             /* an executable node: interp/exec.h */

struct Function {
    uint32_t refs;
    uint32_t captured;
    const struct FnCode *code;        /* lowered once per syntax node, lives in the chunk */
    Chunk *chunk;                     /* retained */
    Module *module;                   /* whose globals it reads; borrowed: modules live as long as Interp */
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
    struct Chunk **chunks; uint32_t chunk_count, chunk_cap;   /* retained: docs and tests point there */
    Source *source;                   /* where it was imported from; NULL for main */
    bool done;                        /* its statements have run */
    Module *next;
};

typedef struct CallFrame {            /* one running Ricci function */
    struct CallFrame *up;
    const Function *fn;
    const Exec *site;                 /* the call */
    Value *args; uint32_t argc;       /* for the trace */
    Source *source;                   /* fn NULL: top-level code of `module` */
    Module *module;
} CallFrame;

/* What format("latex") and so on set: how numbers and tensors are written. */
typedef enum ShowStyle { SHOW_PLAIN, SHOW_LATEX, SHOW_FRACTION, SHOW_FULL, SHOW_HEX } ShowStyle;

typedef struct ShowOptions {
    int digits;                       /* significant digits of matrices, 5 at first */
    ShowStyle style;
    bool dots;                        /* structural zeros of a matrix are written · */
    int width, height;                /* terminal cells; 0: not a terminal */
    bool color;
} ShowOptions;

struct Interp {
    Ctx ctx;                          /* first */
    Value *stack, *sp, *stack_end;    /* the value stack: reserved, committed as used */
    Value *fp;                        /* frame of the running function or module */
    const Exec *at;                   /* what runs now, for error places */
    CallFrame *calls;
    struct Scope *scope;              /* the innermost precision or autocast scope, or NULL */
    struct DeviceBlock *place;              /* the innermost device block, or NULL */
    struct PlaceListener *listener;   /* who hears what ran and what moved, or NULL */
    bool strict_devices;              /* --strict-devices: every device block is strict */
    char place_why[160];              /* why a form refused: place_refuse */
    char *c_stack_limit;              /* recursion past this address is a memory error */
    Value result;                     /* of a V_FLOW return on its way out */
    uint8_t flow;                     /* FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN */
    Names names;
    Module *modules, *main, *module;  /* all, the program's, the running one */
    ShowOptions show;
    Buf out;                          /* stdout, flushed at exit, on newline to a terminal, before stderr */
    bool out_failed;                  /* > /dev/full: exit 1 */
    bool out_closed;                  /* | head: nobody reads any more, the program ends without a word */
    bool out_mute;                    /* a reference of `compare` runs: nothing is written */
    const char *out_heading;          /* the entry of `compare` that writes, until it did once */
    struct Solved *solved;            /* of the `compare` that runs: the last solution, or NULL */
    struct OpTable *ops;              /* the registry, by name */
    struct { uint64_t key[2], counter; } rng;
    TempDir tempdir;                  /* what tempdir() names, once it was asked for */
    const char *const *look_in;       /* more folders to find files and modules in, up to NULL; NULL: none */
    int argc; char **argv;            /* of the program: args() */
    bool interactive;
    Value ans;
    Buf scratch;                      /* text being made by the evaluator; cleared before use */
    Tuple *constants;                 /* literals in the formats of scopes (eval_scope.c) */
    Error *caught; Value caught_value;/* the last error a `catch` took: `throw e` throws it again */
    InterruptFlag no_interrupt;  /* what ctx.interrupt points to until a program sets it */
    struct Explain *explain;          /* who listens to operations, or NULL */
    struct Fuse *fuse;                /* plans of elementwise chains that ran lately, or NULL */
    struct NativeState *native;       /* libraries, callbacks, pins: native.h; NULL until needed */
    struct Host *host;                /* the program around libricci: output.h; NULL: there is none */
    char **notices; uint32_t notice_count, notice_cap;   /* that were shown: each is shown once */
    struct Fixes *fixes;              /* who checks the help of errors: fixes.h; NULL until needed */
    int tries;                        /* running `try` blocks: the help of an error is not seen there */
};

enum { FLOW_NONE, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };

Interp *interp_new(void);             /* ends the process where there is no memory for it */
Interp *interp_open(void);            /* the same, but NULL then */
void interp_free(Interp *);
/* interp_free in two steps, where tensors outlive the program that made them: everything ends but
 * the memory that they lie in; the second frees that. */
void interp_end(Interp *);
void interp_free_memory(Interp *);
/* The thread that runs from now on may use this much of its C stack: after a change of threads. */
void interp_on_thread(Interp *);
void interp_seed(Interp *);           /* random numbers from the system from now on */

/* ---- the value stack: what is pushed survives errors; cutting releases it ---- */
static inline void v_push(Interp *in, Value v) { *in->sp++ = v; }
void stack_cut(Interp *, Value *mark);     /* releases down to mark */

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
} Guard;
void guard_enter(Interp *, Guard *);
void guard_restore(Interp *, Guard *);     /* in the else branch of ERR_TRY */

/* ---- running ---- */
/* Resolves a parsed chunk, runs its statements in module m and returns the last one's
 * value. The module keeps the chunk. */
Value run_chunk(Interp *, Module *, Chunk *);
Value run_text(Interp *, Module *, const char *name, const char *text, size_t len);
Value module_run_source(Interp *, Module *, Source *);    /* takes the source */
/* Calls any callable value (function, operation, format). Arguments are borrowed. */
Value call_value(Interp *, Value callee, const Value *args, int count);
void poll_interrupt_slow(Interp *);
static inline void poll_interrupt(Interp *in) { if (__builtin_expect(*in->ctx.interrupt, 0)) poll_interrupt_slow(in); }
bool truth(Interp *, Value);               /* a condition: bool scalar, else ERR_TYPE */
Module *module_new(Interp *, const char *name);
void module_room(Interp *, Module *);            /* for the names of its globals; raises `memory` */
Value module_import(Interp *, const char *name_or_path, bool is_path, Source *importer);
bool module_in_stdlib(const char *name);
const char *module_of_stdlib(const char *function);   /* the module that defines it, or NULL */
/* `test "name" { … }` blocks of a module, in order. Running one leaves the module's
 * globals as they were; false: it failed, and ctx.error is the error (err_free it). */
int module_test_count(const Module *);
const char *module_test_name(const Module *, int i);
bool module_test_run(Interp *, Module *, int i);
/* `##` text above the assignment of a global, or NULL. */
const char *module_doc(const Module *, const Name *);
/* Every name that code running now could use, for completion; returns how many. */
size_t interp_names(Interp *, const char **names, size_t cap);

/* ---- indexing (interp/index.c) ---- */
/* A subscript list is an array of Sub, made by the evaluator. */
typedef enum SubKind { SUB_VALUE, SUB_SLICE, SUB_ELLIPSIS } SubKind;
typedef struct Sub {
    SubKind kind;
    Value v;                               /* SUB_VALUE: int, tensor, range, none, bool mask, string */
    Value start, stop, step;               /* SUB_SLICE: int or V_UNDEF */
} Sub;
Value index_get(Interp *, Value base, const Sub *subs, int n);
/* base[subs] = v in place where *slot is unshared, on a copy otherwise. */
void index_set(Interp *, Value *slot, const Sub *subs, int n, Value v);
/* base[subs] op= v. */
void index_update(Interp *, Value *slot, const Sub *subs, int n, const Op *op, Value v, bool weak);
Value field_get(Interp *, Value base, const Name *);
void field_set(Interp *, Value *slot, const Name *, Value v);
/* Literals: a vector of values, a matrix of rows (blocks). weak[i]: element i is a numeric
 * literal (or pi, inf, nan), which adapts to the others; NULL: none is. */
Value build_vector(Interp *, const Value *items, int n);
Value build_vector_weak(Interp *, const Value *items, const bool *weak, int n);
Value build_matrix_weak(Interp *, const Value *items, const bool *weak, const int *row_lengths, int rows);

/* ---- text of values (interp/show.c) ---- */
void show_value(Interp *, Buf *, Value);         /* print(x) */
void show_repr(Interp *, Buf *, Value);          /* repr(x): reads back */
void show_echo(Interp *, Buf *, Value);          /* the REPL's echo: header, quoted strings */
/* Python's format spec: "{x:.3e}". Raises ERR_VALUE for a spec that x does not have. */
void format_value(Interp *, Buf *, Value, const char *spec, size_t len);
/* Shortest decimal that reads back in dtype dt, always with a point or exponent. */
void show_float(Buf *, double, DType);

/* ---- output ---- */
void out_write(Interp *, const char *text, size_t n);
void out_flush(Interp *);
/* A line on stderr, after flushing stdout. `notice` texts are printed once per place. */
void err_write(Interp *, const char *text);
void notice(Interp *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
