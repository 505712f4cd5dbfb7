/* Native code: what `extern` blocks make and how C is called. Types come from parser/cdecl/cdecl.h,
 * libffi makes the calls. Four kinds of values: C functions, C types, pointers, structs (unions
 * too). What C may write to is a variable, a pointer or a pinned variable, nothing else, so that
 * values never alias inside the language.
 *
 *   native.c           the state, making the values    native_extern.c   the statement
 *   native_library.c   finding and opening libraries   loader_search.c   the system's folders
 *   native_text.c      prototypes, help of C           native_call.c     from node to result
 *   native_abi.c       CType -> ffi_type               native_convert.c  numbers to C; _pointer.c:
 *   native_vary.c      what stands for `...`                             memory; _load.c: as ours
 *   native_format.c    printf's and scanf's formats    native_out.c      variables that C writes to
 *   native_refuse.c    what C rejects, in words        native_fault.c    entering C: crashes, errno
 *   native_callback.c  Ricci functions that C calls    native_pointer.c  p[i], p.x, ptr(x), p == q
 *   native_struct.c    structs and C types as values   native_memory.c   any C type at an address
 *   native_pin.c       what C keeps; memory that tensors took over
 * Private to them: native_call.h (the files of calling), native_frame.h (a call under way; libricci
 * too), loader_search.h.
 */
#ifndef RICCI_INTERP_NATIVE_H
#define RICCI_INTERP_NATIVE_H

#include "interp/state/wing.h"
#include "interp/index/index.h"
#include "interp/op/op.h"
#include "parser/cdecl/cdecl.h"

/* ---- the values; each starts with a Native (value.h) ---- */
typedef struct CFunction {           /* V_CFUNC */
    Native native;
    const CType *type;               /* CK_FUNCTION */
    const char *name;
    void (*at)(void);
    /* how its arguments go: native_call.h; NULL until it is called */
    struct NativePlan *plan;
} CFunction;

typedef struct CTypeValue {          /* V_CTYPE: callable, makes a value of the type */
    Native native;
    const CType *type;
    const char *name;
} CTypeValue;

typedef struct Pointer {             /* V_POINTER */
    Native native;
    const CType *to;                 /* what it points to; void where nothing is known */
    char *at;
    /* keeps the memory there alive: tensor, string, struct …; V_UNDEF: C's own */
    Value owner;
    /* how many bytes in front of `at` and from it on are known to be there; bytes SIZE_MAX: nobody
     * knows */
    size_t before, bytes;
    /* of a value that is no pinned variable: passes to const parameters only */
    bool readonly;
    /* a place in the variable that is being assigned to; no program sees it */
    bool inside;
} Pointer;

/* V_STRUCT: struct or union, a value: copied when written while shared */
typedef struct Struct {
    Native native;
    const CType *type;
    size_t size;                     /* its type may be gone when it is freed */
    Value keep;                      /* a tuple of what its pointers point to, or V_UNDEF */
    _Alignas(16) char bytes[];
} Struct;

static inline Value v_native(Tag tag, void *object) { return (Value){ .tag = tag, .ptr = object }; }
/* `of *`, while nobody keeps it. */
static inline CType ctype_pointer_to(const CType *of)
{
    return (CType){ .kind = CK_POINTER, .size = sizeof(void *), .of = of };
}

Value cfunction_new(Interp *, const CType *, const char *name, void (*at)(void));
Value ctype_new(Interp *, const CType *, const char *name);
/* owner is retained. A NULL `at` is a null pointer of that type. */
Value pointer_new(Interp *, const CType *to, void *at, Value owner, size_t bytes);
/* Another pointer to the same memory; a C function where `to` is one. */
Value pointer_as(Interp *, const Pointer *, const CType *to, size_t bytes);
Value struct_new(Interp *, const CType *, const void *bytes);   /* bytes NULL: zeros */
Value struct_copy(Interp *, const Struct *);

/* ---- the state of an interpreter ---- */
typedef struct NativeLibrary {
    struct NativeLibrary *next;
    char *asked, *path;              /* as the program wrote it; as it was opened */
    void *handle;                    /* NULL: a list, "-lgsl -lgslcblas" */
    struct NativeLibrary **parts;
    uint32_t count;
} NativeLibrary;

typedef struct NativeState {
    NativeLibrary *libraries;        /* open until the interpreter ends */
    struct NativeCallbacks *callbacks;   /* that C may hold */
    struct NativeFrame *frame;       /* the innermost native call */
    struct NativeBlock *blocks;      /* how types and functions pass: native_abi.c */
    struct CScope *types;            /* of sizeof("…") outside of any block, of libricci */
    int last_errno;                  /* after the last native call: errno() */
    unsigned refusals_seen;          /* of callbacks, that were told of */
    Value null;                      /* the null pointer */
    struct NativePin *pins;          /* what unpin has not released yet (native_pin.c) */
    int bool_pins;                   /* how many of them are tensors of bools */
    int lent_pins;                   /* how many are a host's: native_pin_lent */
    struct NativeOwned *owned;       /* memory of C's that tensors own: as_tensor(…, free=) */
} NativeState;

NativeState *native_state(Interp *); /* made on first use */
/* closes nothing that values still need: called late in interp_free */
Value native_null(Interp *);         /* `null`: borrowed */

/* ---- extern "…" { … } ---- */
/* By soname, path (from the importing file's folder, then the working one), `-lname` or `name`.
 * Raises `ffi`, naming what was searched. */
NativeLibrary *native_library_open(Interp *, const char *name, Source *importer);
void *native_symbol(Interp *, NativeLibrary *, const char *symbol);    /* NULL: it has none */
/* The symbol of the library that is closest to a misspelt one, or NULL. */
const char *native_symbol_closest(Interp *, NativeLibrary *, const char *symbol);
void native_libraries_free(Interp *);
/* `double fma(double x, double y, double z)`, as C writes it. */
void native_prototype(Buf *, const CType *function, const char *name);
void native_help(Buf *, Value);      /* of a C function or C type */

/* ---- calls ---- */
/* A call node whose callee is f: arguments are evaluated here, variables stay variables. */
Value native_call_node(Interp *, const Exec *, CFunction *);
/* With values: map(f, xs), callbacks. Parameters that C writes to take pointers only. */
Value native_call(Interp *, CFunction *, const Value *args, int count);
/* for a call with named arguments */
_Noreturn void native_raise_names(Interp *, const CFunction *);
/* Whom an error speaks of: "cblas_ddot: x (parameter 2, const double *) …". */
typedef struct NativeWhere {
    const char *of;                  /* function, type or pointer */
    const char *name;                /* parameter or field; NULL: none */
    int index;                       /* parameter from 0; -1: none */
    /* of the running operation, for its text and caret; -1: none */
    int operand;
    bool variable;                   /* C writes to the operand, a variable: a help assigns to it */
    /* i + 1: element i of the operand, a tuple; 0: the operand itself */
    uint32_t item;
} NativeWhere;

/* Writes v as a C `t` at `to` (ctype_size(t) bytes). Raises `ffi` saying what to write. Memory that
 * a pointer written there needs stays alive by being appended to *keep (a tuple or V_UNDEF); NULL:
 * the caller keeps v alive, and temporary buffers (texts) too. `reading`: the pointer is const
 * there. */
void native_store(Interp *, const CType *, void *to, Value v, const NativeWhere *, Value *keep);
/* The value of a C `t` at `from`; owner (may be V_UNDEF): what keeps that memory alive. */
Value native_load(Interp *, const CType *, const void *from, Value owner);
/* An integer type's range as far as ints reach; an integer of it, in range, at an address that is a
 * multiple of its size; and from any (unsigned 64: the bits). */
void native_range(const CType *, int64_t *low, int64_t *high);
void native_put_int(const CType *, void *to, int64_t);
int64_t native_get_int(const CType *, const void *from);
/* The dtype whose elements are C's t (arrays of two doubles: c128 as an alternative); DT_NONE:
 * there is none. */
DType native_dtype(const CType *);
/* The C type of a dtype's elements; NULL: C has none. */
const CType *native_ctype(DType);
/* The elements of a tensor for C: dtype, contiguity, device checked; count: at least so many, -1:
 * any. */
void *native_tensor_data(Interp *, Tensor *, const CType *element, int64_t count,
                         const NativeWhere *);

/* ---- libffi's side ---- */
struct _ffi_type;
/* made once; raises `ffi` where it cannot pass by value */
struct _ffi_type *native_abi(Interp *, const CType *);

/* ---- running ---- */
/* ffi_call(cif, f->at, result, args) with everything around it: output in order, errno, a crash or
 * a pending error of a callback raised as an error that names f. */
void native_run(Interp *, const CFunction *f, void *cif, void *result, void **args);

/* fn(arg) touches memory that only C vouches for: the signal that it ended with, or 0. */
int native_guard(Interp *, void (*fn)(void *), void *arg);
/* The name of the C function that runs now on this thread, or NULL; for signal handlers. */
const char *native_running(void);
/* In the handler of Ctrl-C: leaves the native call that this thread is inside of, if it is. */
void native_abandon(void);

/* ---- callbacks ---- */
/* The code address of a callable value as a C function of that type; the same one for the same
 * value; it stays until unpin(f) or the end. */
void *native_callback(Interp *, const CType *function, Value callable, const NativeWhere *);
/* unpin(f): true if there was one */
bool native_callback_forget(Interp *, Value callable);
/* at the end, before the C types go */
void native_callbacks_free(Interp *);

/* ---- pointers, structs, types ---- */
Value pointer_index(Interp *, Value base, const Sub *subs, int n);
void pointer_index_set(Interp *, Value base, const Sub *subs, int n, Value v);
/* of a struct or pointer */
Value native_field_get(Interp *, Value base, const Name *);
void native_field_set(Interp *, Value *slot, const Name *, Value v);
/* a struct before it is written */
void native_unshare(Interp *, Value *slot);
Value ctype_call(Interp *, CTypeValue *, const Value *args, int count,
                 const Name *const *names, const Value *named, int named_count);
/* nobody vouches for its memory */
static inline bool pointer_guarded(const Pointer *p)
{
    return p->owner.tag == V_UNDEF || p->bytes == SIZE_MAX;
}
/* may its target be changed now? */
bool pointer_writable(const Pointer *);
/* For s.a[0] = 1 and p->in.x = 1: a pointer to what is inside *slot (a struct, which is unshared,
 * or a pointer) under a name, or under subscripts; false where that is no struct, union or
 * array. */
bool native_inside(Interp *, Value *slot, const Name *, const Sub *subs, int n, Value *out);
bool native_equal(Value, Value);
bool struct_equal(const Struct *, const Struct *);
/* The first names of its fields, anonymous members' too, for messages; returns how many. */
enum { NATIVE_FIELDS = 64 };
size_t native_fields(const CType *record, const char *names[NATIVE_FIELDS]);
/* keys(s): a tuple of texts */
Value native_keys(Interp *, Value structure);
/* len(p): whole elements known */
Value native_length(Interp *, Value pointer);
/* `struct point`, `double *`, `C function`: what v is, as v_describe says it. */
const char *native_describe(Value, char *out, size_t cap);
void show_native(Interp *, Buf *, Value, bool repr);
/* A pointer to the same memory as a pointer to `type`, of which count elements are there (-1: what
 * is known). */
Value native_retype(Interp *, Value pointer, const CType *type, int64_t count);
/* The text at an address: up to its NUL, `most` bytes at most. `ends`: `most` bytes without a NUL
 * are a text too. */
Value native_text_value(Interp *, const char *at, size_t most, bool ends, bool guarded);
/* ptr(x, n): writable while x is pinned. In a call, f(ptr(x, n)), native_call.c makes its own. */
Value native_ptr(Interp *, Value v, int64_t count);
/* Raises ERR_FFI of a sparse matrix. */
void native_refuse_sparse(Interp *, const Tensor *);
_Noreturn void native_raise_no_field(Interp *, const CType *record, const Name *);

/* ---- any C type at an address (native_memory.c) ---- */
/* Memory that C named and the language did not make: touching it may be a crash, which is then an
 * `ffi` error. `owner` keeps it alive (a struct's also what it points to), V_UNDEF: C does. */
typedef struct NativePlace {
    const CType *type;
    char *at;
    Value owner;
    bool guarded;                    /* nobody vouches for it */
} NativePlace;
/* As native_load, arrays and records too: a tensor, a text of char, a tuple of anything else. */
Value native_read(Interp *, NativePlace);
void native_write(Interp *, NativePlace, Value v, const NativeWhere *, Value *keep);
/* The same where v is a number that a type of its kind takes as it is: nothing to say, no texts
 * made. */
bool native_write_number(Interp *, NativePlace, Value v);
/* memcpy between them; `what`: read or written, for the error. */
void native_copy(Interp *, void *to, const void *from, size_t bytes, bool guarded, bool writes);
/* The bytes in front of a NUL, at most `most`. Raises `ffi` where the memory ends before. */
size_t native_text_length(Interp *, const char *at, size_t most, bool guarded);
/* `double *`: a C type's text, cut to cap. Returns out. */
const char *native_type_text(Interp *, const CType *, char *out, size_t cap);
/* After a field was written: lets go of what no pointer of the struct leads to any more, now and
 * then. */
void native_forget_kept(Interp *, Struct *);
/* *keep (a tuple or V_UNDEF) holds v too. */
void native_keep(Interp *, Value *keep, Value v);

/* ---- pins (native_pin.c) ---- */
void native_pin(Interp *, Value *slot);
void native_unpin(Interp *, Value *slot);
/* As native_pin, for memory that a host shares with a variable: it ends by itself once the variable
 * has another value, with the next native_pins_sweep. */
void native_pin_lent(Interp *, Value *slot);
void native_pins_sweep(Interp *);
/* Of a dense tensor of bools that C wrote: its bytes become 0 or 1. Others stay as they are. */
void native_bools(Tensor *);
void native_pins_bools(Interp *);        /* of all pinned ones */
void native_struct_assign(Interp *, Value *slot, Value v);
/* as_tensor(…, free=): a tensor that owns C's memory and calls `freer` with it in the end. */
Tensor *native_owned(Interp *, DType, int rank, const int64_t *shape, void *at, size_t bytes,
                     Value freer);
void native_owned_free(Interp *);         /* at the end, before modules go */
void native_pins_free(Interp *);          /* after them */

const Exec *lower_extern(Lower *, const Node *);

extern const Wing wing_native;

#endif
