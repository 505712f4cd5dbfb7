/* What the files of calling C share: native_call.c (the call), native_out.c (variables that C
 * writes to), native_vary.c (what stands for `...`), native_format.c (printf's formats),
 * native_convert*.c (values to C and back), native_refuse.c (what errors say) and native_abi.c
 * (libffi's types); and what native.c and native_callback.c need of them. Nobody else includes
 * it. */
#ifndef RICCI_INTERP_NATIVE_CALL_H
#define RICCI_INTERP_NATIVE_CALL_H

#include "interp/native/native.h"

#include <ffi.h>

/* How an argument goes. */
typedef enum NativePass {
    /* these two are written without a call where the value is what they take */
    PASS_DOUBLE,
    PASS_INT,
    PASS_VALUE,           /* by value: native_store */
    PASS_RECORD,          /* a struct or union by value */
    PASS_CONST,           /* a pointer that C reads through, or a function */
    PASS_OUT              /* a pointer that C may write through */
} NativePass;

typedef struct NativeParam {
    uint8_t pass;         /* NativePass */
    int64_t low, high;    /* PASS_INT: its range as far as an int can say */
} NativeParam;

/* Made once for a function's type. Lives until the interpreter ends. */
typedef struct NativePlan {
    ffi_cif cif;          /* of the parameters that are declared */
    ffi_type **types;
    uint32_t count;
    bool scalars;         /* numbers only, few, and a number as the result: the short way */
    bool lengths;         /* some parameter says how long it is */
    bool open;            /* more arguments may follow: `...` or `f()` */
    size_t result_bytes;  /* room that libffi wants for the result */
    NativeParam params[];
} NativePlan;

/* Zeroed memory that lives as long as the interpreter. */
void *native_block(Interp *, size_t bytes);
void native_blocks_free(Interp *, NativeState *);

/* ---- one conversion ---- */
/* Memory that a value shows to C. */
typedef struct NativeMemory {
    char *at;
    /* known to be there in front of `at` and from it on; SIZE_MAX: nobody knows */
    size_t before, bytes;
    Value owner;          /* what keeps it alive (borrowed); V_UNDEF: C's own */
    bool readonly;        /* pointers into it are for reading */
    /* set before: room for a number (32 bytes) that lives long enough; or NULL */
    void *spare;
} NativeMemory;

/* The memory that v shows through a pointer of type t. What has to be made for it (arrays of
 * pointers, numbers behind `const double *`) goes to *keep or, where that is NULL, on the value
 * stack. */
void native_memory(Interp *, const CType *t, Value v, const NativeWhere *, Value *keep,
                   NativeMemory *);
/* Room that lives as a native_memory's. Zeroed, aligned for anything. */
void *native_room(Interp *, size_t bytes, Value *keep);

/* The structs of a tuple side by side, for a pointer to `to` (void too); C's type of them, or NULL:
 * there is something else in it, or nothing. */
const CType *native_tuple_record(const CType *to, Value tuple);
/* The items of a tuple as an array of `element`s; `keep` as in native_memory. */
void native_tuple_memory(Interp *, const CType *element, Value tuple, const NativeWhere *,
                         Value *keep, NativeMemory *);

/* The element type behind arrays: double of double[2][3]; `count` becomes 6. */
const CType *native_innermost(const CType *, size_t *count);
/* char of any sign: what const pointers to it take strings for */
bool native_is_text(const CType *);
bool native_is_number(const CType *);
bool native_is_scalar(Value);             /* a bool, int, float or rank-0 tensor */
/* May a pointer to `from` pass where one to `to` is wanted? */
bool native_points_alike(const CType *to, const CType *from);
bool native_is_const(const CType *to);    /* C only reads through a pointer to it */

/* ---- errors (native_refuse.c) ---- */
/* `f: x (parameter 2, const double *) …`, with the caret under the operand. help may be NULL. */
_Noreturn void native_refuse(Interp *, const NativeWhere *, const CType *, const char *help,
                             const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The user's own text of the argument, or `x`. Valid for the next three calls. */
const char *native_text(Interp *, const NativeWhere *);
/* The name that makes a record: its typedef's or its tag; or NULL. */
const char *native_record_name(const CType *);
/* `x = ` where what C takes has to be in the variable first, else an empty text. */
const char *native_assigns(const NativeWhere *, bool written, const char *x, char out[80]);
/* v is no value for a t at all: says what it is and what to write. */
_Noreturn void native_refuse_value(Interp *, const NativeWhere *, const CType *, Value v);
/* The same where t is a pointer through which C writes, and v is no variable. */
_Noreturn void native_refuse_target(Interp *, const NativeWhere *, const CType *, Value v);

/* ---- one call ---- */
typedef struct NativeArg {
    Value v;              /* borrowed; V_UNDEF: C may write to *slot */
    Value *slot;          /* the variable that was named, or NULL */
    /* the variable that C only reads here, or NULL; v lies at `kept` on the value stack */
    Value *read;
    Value *kept;
    /* C writes to that variable through another argument: memory is that one's */
    bool same;
    int64_t count;        /* of ptr(x, n); -1: it was not said */
    int operand;          /* of the call; -1: none */
    bool held;            /* the variable's own memory is C's until it returns */
    const CType *type;    /* the parameter's; NULL: one of `...` */
    const CType *out;     /* a C value of this type goes back into *slot */
    Value items;          /* a tuple: so many of them go back, as a tuple; else V_UNDEF */
    NativeMemory memory;  /* of pointers */
    _Alignas(16) char cell[32], spare[32];
} NativeArg;

typedef struct NativeCall {
    Interp *in;
    CFunction *f;
    NativePlan *plan;
    NativeArg *args;
    void **values;
    uint32_t count;
} NativeCall;

NativeWhere native_where(const NativeCall *, uint32_t i);
/* ---- native_out.c ---- */
/* What argument i is, before anything is evaluated: a variable for C to write to, or nothing. */
void native_out_find(NativeCall *, uint32_t i, const Exec *);
/* C may write to *slot: the variable's own memory, or a temporary for a number. */
void native_out_open(NativeCall *, uint32_t i);
/* After all were opened: where the variable's memory is, kept alive. */
void native_out_hold(NativeCall *, uint32_t i);
/* A variable that C reads here and writes through another argument has one address, as in C. Before
 * any is opened: our own reference to it does not make it a shared one. After all were: the
 * memory. */
void native_out_release(NativeCall *, uint32_t i);
void native_out_same(NativeCall *, uint32_t i);
/* Temporaries into their variables. */
void native_out_close(NativeCall *);
/* A pointer that C gave: into an argument's memory, or C's own. */
Value native_out_pointer(const NativeCall *, const CType *pointer, void *at);

/* ---- native_vary.c ---- */
/* An argument in place of `...`: writes it and says as what it goes. */
ffi_type *native_vary(NativeCall *, uint32_t i);

/* printf and scanf: raises where the format asks for something else (native_format.c). */
void native_format_check(NativeCall *);

/* A text that C gave, up to its NUL; `of` for errors. at is not NULL. */
Value native_load_text(Interp *, const CType *, const char *at, const char *of);

#endif
