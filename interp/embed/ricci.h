/* libricci: Ricci inside a C or C++ program. This is the installed header; it needs no other.
 *
 *     Ricci *r = ricci_open();
 *     if (ricci_eval(r, "A = [2, 1; 1, 3]") || ricci_eval(r, "A \\ [3, 5]"))
 *         fputs(ricci_error(r), stderr);
 *     else
 *         puts(ricci_result(r));
 *     ricci_close(r);
 *
 * Failure. Functions that return an int return 0, or 1 after a failure; those that return a
 * pointer return NULL. ricci_error then says what happened, as the program `ricci` would. No
 * function ends the process, and none jumps past its caller: what fails leaves the interpreter as
 * usable as before. Every function takes NULL for an interpreter or a value that does not exist,
 * and fails.
 *
 * Texts are UTF-8 and end in a NUL. A text that a function returns belongs to the interpreter and
 * is valid until the next call on it, where nothing else is said.
 *
 * Threads. Interpreters are independent; each may be used by one thread at a time, whichever.
 * Three things may be done from any thread at any time: ricci_interrupt (from a signal handler
 * too), and releasing a tensor that was got, even after ricci_close.
 *
 * Calls inside calls. A C function that Ricci calls (ricci_register, ricci_register_function) may
 * use the same interpreter, ricci_eval included, but not close it. The deleter of a tensor and the
 * function given to ricci_output may not use it at all. */
#ifndef RICCI_H
#define RICCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- DLPack 1.1 ---- */
/* Where the official dlpack.h was included before, its own definitions are used; where it comes
 * later, these stand for it. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t major, minor;
} DLPackVersion;

#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
    kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLVulkan = 7,
        kDLMetal = 8, kDLVPI = 9,
    kDLROCM = 10, kDLROCMHost = 11, kDLExtDev = 12, kDLCUDAManaged = 13, kDLOneAPI = 14,
        kDLWebGPU = 15,
    kDLHexagon = 16, kDLMAIA = 17
} DLDeviceType;

typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;

typedef enum {
    kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLOpaqueHandle = 3U, kDLBfloat = 4U, kDLComplex = 5U,
        kDLBool = 6U,
    kDLFloat8_e3m4 = 7U, kDLFloat8_e4m3 = 8U, kDLFloat8_e4m3b11fnuz = 9U, kDLFloat8_e4m3fn = 10U,
    kDLFloat8_e4m3fnuz = 11U, kDLFloat8_e5m2 = 12U, kDLFloat8_e5m2fnuz = 13U,
        kDLFloat8_e8m0fnu = 14U,
    kDLFloat6_e2m3fn = 15U, kDLFloat6_e3m2fn = 16U, kDLFloat4_e2m1fn = 17U
} DLDataTypeCode;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;            /* in elements; NULL: row-major */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#ifdef __cplusplus
}
#endif
#endif
#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "ricci.h speaks DLPack 1: the dlpack.h that was included before it has another version"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Ricci Ricci;             /* an interpreter */
typedef struct RicciValue RicciValue;   /* a value of one, held until ricci_free */

/* ---- an interpreter ---- */
/* A new interpreter; NULL when there is not enough memory for one. */
Ricci *ricci_open(void);
/* Ends it and everything that it still holds: values, adopted tensors (their deleters are called),
 * C functions. Tensors that were got from it live on until they are released. */
void ricci_close(Ricci *);
/* "0.1.0" */
const char *ricci_version(void);
/* What the interpreter may hold at most, in bytes; more is a `memory` error. 0: what the machine
 * has, as at first. */
void ricci_memory_limit(Ricci *, size_t bytes);

/* Where text goes: stream 1 is what programs print, stream 2 notices and warnings. Returns 0, or
 * anything else where it could not be written, which is an `io` error of the program. Text comes in
 * pieces, at the latest when the evaluation ends, in the order of both streams; it has no NUL.
 * Without one (NULL), and at first, text goes to stdout and stderr of the C library. */
typedef int (*RicciWrite)(void *user, int stream, const char *text, size_t bytes);
void ricci_output(Ricci *, RicciWrite, void *user);

/* What is shown in several forms: a picture, the table of `compare` or `profile`, a value. text is
 * always there, others where the thing has them (NULL: it has not); all but the bytes of the PNG
 * end in a NUL. LaTeX stands between dollar signs. The picture is to be seen width × height pixels
 * large; the PNG has twice as many each way. result: it is the value of ricci_show. */
typedef struct RicciForms {
    const char *text, *latex, *svg, *html;
    const void *png;
    size_t png_bytes;
    int width, height;
    bool result;
} RicciForms;
/* Where such things go, behind the text that was written before. Returns 0, or anything else where
 * it cannot be shown, which is an `io` error of the program. Without one (NULL), and at first,
 * their text is written. The forms are valid until it returns; it may not use the interpreter. */
typedef int (*RicciDisplay)(void *user, const RicciForms *);
void ricci_display(Ricci *, RicciDisplay, void *user);

/* Ends what the interpreter runs with an `interrupt` error, which programs cannot catch; what runs
 * nothing is ended when it starts next. Where C functions called each other through it, all of that
 * ends. From any thread, and from signal handlers. */
void ricci_interrupt(Ricci *);
/* Takes back an interrupt that nothing was ended by yet. */
void ricci_interrupt_clear(Ricci *);

/* ---- evaluating ---- */
/* Runs text as a program. Variables and functions stay for the next call. */
int ricci_eval(Ricci *, const char *text);
/* The same where the text does not end in a NUL; errors call it by that name (a file's: modules are
 * imported from its folder first). */
int ricci_eval_named(Ricci *, const char *name, const char *text, size_t bytes);
/* Runs a file. */
int ricci_run(Ricci *, const char *path);
/* The value of the last statement of what was evaluated last, as `print` shows it; "" for none. */
const char *ricci_result(Ricci *);
/* The same as a value to be freed. */
RicciValue *ricci_value(Ricci *);
/* The same, and it is kept no longer: ricci_result is "" then. */
RicciValue *ricci_take(Ricci *);
/* Hands it to the display function in all forms that it has: as the prompt shows it, and in LaTeX
 * or HTML where that suits it. Nothing where there is no value. */
int ricci_show(Ricci *);
/* What the program gave to exit(), which ends all that runs with an `interrupt` error, not the
 * process; -1 where the last evaluation did not call it. */
int ricci_exit_code(Ricci *);

/* ---- errors ---- */
/* The error of the last call that could fail, with its place and its help, as the program `ricci`
 * reports it; "" where that call did not fail. Valid until the next call that can fail. */
const char *ricci_error(Ricci *);

typedef struct RicciError {
    /* "syntax", "name", "type", "shape", "index", "value", "dtype", "device", "numeric", "memory",
     * "io", "ffi", "interrupt", "assert", "throw" */
    const char *kind;
    const char *message;
    const char *help;            /* what to write instead; "" if there is nothing to say */
    /* name of the text or file; "" where the error has no place there */
    const char *source;
    int line, column;            /* from 1; column in characters; 0 without a place */
} RicciError;
/* The same in parts; NULL where there is none. Valid as ricci_error. */
const RicciError *ricci_error_parts(Ricci *);

/* What was thrown, of a last error of kind "throw", to be freed; NULL: it is another. */
RicciValue *ricci_error_value(Ricci *);

/* ---- blocks around calls ---- */
/* header is that of a block, "precision bf16 accumulate f32", "autocast bf16" or "on sim.mps
 * quiet": what is evaluated and called until ricci_end is as if it stood in the block. Blocks end
 * in the order in which they began, inside out; those that a C function began end with it. Where
 * ricci_begin fails nothing began. */
int ricci_begin(Ricci *, const char *header);
int ricci_end(Ricci *);

/* ---- variables ---- */
/* The program's global variables. Setting makes those that there are none of; getting one that
 * there is not is a `name` error, one of another kind a `type` error. */
int ricci_set_int(Ricci *, const char *name, int64_t);
int ricci_set_double(Ricci *, const char *name, double);
int ricci_set_bool(Ricci *, const char *name, bool);
int ricci_set_string(Ricci *, const char *name, const char *text, size_t bytes);
int ricci_get_int(Ricci *, const char *name, int64_t *);
/* Any real number, rounded to the nearest double. */
int ricci_get_double(Ricci *, const char *name, double *);
int ricci_get_bool(Ricci *, const char *name, bool *);
/* bytes may be NULL; a string of Ricci may hold NULs. */
const char *ricci_get_string(Ricci *, const char *name, size_t *bytes);

/* ---- tensors, without a copy ---- */
/* Hands a tensor over: the variable then lies in that memory. The tensor belongs to Ricci from the
 * call on, also when it fails: its deleter is called once, when nothing in Ricci uses the memory
 * any more, at the latest in ricci_close, on the thread that uses the interpreter then.
 *   Strides may be anything, negative and zero included. dtypes: bool, int8, int32, int64, uint8,
 * float16, bfloat16, float32, float64, complex64, complex128, float8_e4m3fn, float8_e5m2; lanes 1.
 * Devices: the CPU, host memory of CUDA and ROCm, and CUDA where `cuda:n` is one of devices(): the
 * tensor lives there, what was written by then on ricci_cuda_stream is read, and Ricci never writes
 * it. Anything else is an error that says so.
 *   A tensor with DLPACK_FLAG_BITMASK_READ_ONLY is never written: programs that assign to its
 * elements get a copy first. Without that flag Ricci may write to the memory at any time while it
 * has it: x[0] = 1 does where no other variable shares it, and results may be put there. So set it
 * where the C program goes on using the memory for itself.
 *   A bool is a byte 0 or 1. Any other is true, and becomes 1: in the memory, which may be written,
 *   or
 * in a copy. What the C program writes there later has to be 0 or 1.
 *   What is copied after all: a tensor of rank 0 (it becomes a number) or without elements, data
 *   that
 * do not lie at a multiple of their size, and bools that are read-only and not all 0 or 1. */
int ricci_set_tensor(Ricci *, const char *name, struct DLManagedTensorVersioned *);
/* The same, for memory that both write: x[0] = 1 in a program is seen by the C program. Where the
 * elements lie row-major without gaps the variable is pinned, as by pin(x): y = x copies. What is
 * read-only, or would have to be copied, is a `value` error. */
int ricci_share(Ricci *, const char *name, struct DLManagedTensorVersioned *);
/* A tensor of the DLPack before version 1 (`dltensor`), which cannot say that it is read-only and
 * so is taken as that. It belongs to the result from then on; NULL, and nothing is released: there
 * is no memory. Needs no interpreter. */
struct DLManagedTensorVersioned *ricci_versioned(struct DLManagedTensor *);
/* The elements of a variable, without a copy, as read-only: whoever changes the variable in Ricci
 * gets a copy first, so this stays what it was. Views have strides, negative and zero ones too.
 * Release it with its deleter, from any thread, also after ricci_close. Numbers are tensors of rank
 * 0, ranges vectors; a tensor on a device is brought home. The dtypes are those of
 * ricci_set_tensor; rationals, decimals and the like are a `dtype` error: cast them first. */
struct DLManagedTensorVersioned *ricci_get_tensor(Ricci *, const char *name);
/* Whether no variable, no other value and no exported tensor has the memory of this tensor: whoever
 * exports it and frees the value then has it for himself. */
bool ricci_alone(const RicciValue *);
/* The stream in whose order the device cuda:n works here, for who hands tensors over that it still
 * writes; 0: there is no such device. */
uintptr_t ricci_cuda_stream(Ricci *, int device);
/* A value that lives on a CUDA device, read-only, where it is, or as a copy there. `stream`, a
 * CUstream (1 and 2 are CUDA's default ones, -1 none), waits until it is there. Its deleter may be
 * called while streams still read it. What lives elsewhere is a `device` error. */
struct DLManagedTensorVersioned *ricci_to_cuda(const RicciValue *, intptr_t stream, bool copy);
/* The variable's own elements, row-major, to be written: what C writes is what programs read, and
 * the other way round. As with pin(x) the variable has this memory to itself until the tensor is
 * released: y = x copies, x[0] = 1 and x += 1 write here. A new value, x = …, leaves the memory to
 * C. Not while a program runs. A variable that is no tensor is a `type` error. */
struct DLManagedTensorVersioned *ricci_get_tensor_writable(Ricci *, const char *name);

/* A tensor around plain memory, row-major, for ricci_set_tensor and ricci_tensor. dtype is Ricci's
 * name: "f64", "f32", "i32", "c128", "bool" … release(user) is called when it is not needed any
 * more (NULL: nothing is). NULL, and nothing is released: an unknown dtype, a wrong rank or shape,
 * or no memory. Needs no interpreter. */
struct DLManagedTensorVersioned *ricci_wrap(const char *dtype, int rank,
                                            const int64_t *shape, void *data,
                                            void (*release)(void *user), void *user);

/* ---- values ---- */
/* A value that a function returns is the caller's: ricci_free lets it go (ricci_close lets go of
 * all that are left). Values do not change. */
RicciValue *ricci_none(Ricci *);
RicciValue *ricci_int(Ricci *, int64_t);
RicciValue *ricci_double(Ricci *, double);
RicciValue *ricci_bool(Ricci *, bool);
RicciValue *ricci_string(Ricci *, const char *text, size_t bytes);
RicciValue *ricci_tensor(Ricci *, struct DLManagedTensorVersioned *);  /* as ricci_set_tensor */
RicciValue *ricci_range(Ricci *, int64_t start, int64_t stop, int64_t step);
/* A tuple of copies of the items; names may be NULL, and so may each of them. */
RicciValue *ricci_tuple(Ricci *, int count, RicciValue *const *items, const char *const *names);
/* the same value, to be freed by itself */
RicciValue *ricci_copy(const RicciValue *);
void ricci_free(RicciValue *);

/* A variable, or the operation of that name. */
RicciValue *ricci_get(Ricci *, const char *name);
int ricci_set(Ricci *, const char *name, const RicciValue *);
/* Takes a variable away. */
int ricci_unset(Ricci *, const char *name);
bool ricci_has(Ricci *, const char *name);
/* The name of the i-th variable, from 0; NULL: there are no more. Valid as long as the
 * interpreter. */
const char *ricci_name(Ricci *, int i);

/* As type(x) says: "int", "float", "tensor", "string", "tuple", "function" … Stays valid. */
const char *ricci_type(const RicciValue *);
int ricci_to_int(const RicciValue *, int64_t *);
int ricci_to_double(const RicciValue *, double *);
int ricci_to_bool(const RicciValue *, bool *);
/* valid while the value is held */
const char *ricci_to_string(const RicciValue *, size_t *bytes);
struct DLManagedTensorVersioned *ricci_to_tensor(const RicciValue *);  /* as ricci_get_tensor */
/* As `print` shows it. */
const char *ricci_text(const RicciValue *);
/* As repr(x) gives it, text that reads back; as the prompt echoes it. NULL after a failure. */
const char *ricci_repr(const RicciValue *);
const char *ricci_echo(const RicciValue *);
/* Of a number or a tensor: its axes (-1: it is neither), their lengths (valid while the value is
 * held; NULL: a number), its dtype ("f64", "rational" …; "": none) and the device that it is on. */
int ricci_rank(const RicciValue *);
const int64_t *ricci_shape(const RicciValue *);
const char *ricci_dtype(const RicciValue *);
const char *ricci_device(const RicciValue *);
/* 0, or 1 where it is no range; without an error. */
int ricci_to_range(const RicciValue *, int64_t *start, int64_t *stop, int64_t *step);
/* Items of a tuple: how many (-1: it is none), by number from 0, by name; and their names (NULL:
 * none). */
int ricci_count(const RicciValue *);
RicciValue *ricci_item(const RicciValue *, int i);
RicciValue *ricci_field(const RicciValue *, const char *name);
const char *ricci_field_name(const RicciValue *, int i);

/* x[…]: each subscript a value (an int, a tensor of ints or bools, none), a slice whose parts may
 * be NULL, or an ellipsis. */
enum { RICCI_INDEX_MAX = 40 };
typedef struct RicciIndex {
    enum { RICCI_VALUE, RICCI_SLICE, RICCI_ELLIPSIS } kind;
    const RicciValue *value, *start, *stop, *step;
} RicciIndex;
RicciValue *ricci_index(const RicciValue *, int count, const RicciIndex *);

/* Calls the function or operation of that name; its result. */
RicciValue *ricci_call(Ricci *, const char *name, int count, RicciValue *const *args);
/* The same of a value that can be called. */
RicciValue *ricci_call_value(const RicciValue *function, int count, RicciValue *const *args);
/* Likewise; behind the `count` arguments in args follow `named` ones that go by their names. */
RicciValue *ricci_call_named(const RicciValue *function, int count, int named,
                             RicciValue *const *args, const char *const *names);
bool ricci_callable(const RicciValue *);
/* An operator as programs write it, of one operand ("-", "!") or two ("+", "@", "==" …). Bit i of
 * literals: operand i is a number that adapts to the other, as one written in a program does. */
RicciValue *ricci_operate(Ricci *, const char *sign, int count, RicciValue *const *operands,
                          unsigned literals);

/* ---- C functions in Ricci ---- */
/* Makes a C function a function of the program, by its declaration, with everything that `extern`
 * does: numbers are converted and checked, tensors pass as pointers without a copy, lengths are
 * checked, variables are written in place.
 *     double dot(const double x[n], const double y[n], size_t n);
 *     ricci_register(r, "double dot(const double x[n], const double y[n], size_t n);",
 *                    (void (*)(void))dot); */
int ricci_register(Ricci *, const char *declaration, void (*function)(void));

/* Makes a C function of any values an operation of the program. signature is its name and its
 * parameters as help shows them: "hypot3(x, y, z=0)", "total(first, rest...)". The function gets
 * one argument per parameter, NULL where one with a default was not given; the rest follows. The
 * arguments are its caller's: keep one with ricci_copy. It returns a value, which Ricci frees (one
 * of its arguments may be returned too); or NULL: the error of the last call on the interpreter
 * that failed is then raised where the program called the function, and where none did the value is
 * none. help may be NULL; ?name shows it. */
typedef RicciValue *(*RicciFunction)(Ricci *, void *user, int count, RicciValue *const *args);
int ricci_register_function(Ricci *, const char *signature, const char *help, RicciFunction,
                            void *user);

/* A C function of any values as a value, which goes with its last use: release(user) is called
 * then, by whichever call lets it go, and may not use the interpreter. Called with arguments by
 * position, then `named` ones that go by names. As ricci_register_function otherwise. */
typedef RicciValue *(*RicciHostFunction)(Ricci *, void *user, int count, RicciValue *const *args,
                                         int named, const char *const *names);
RicciValue *ricci_function(Ricci *, const char *name, RicciHostFunction, void *user,
                           void (*release)(void *user));
/* The user of such a value; NULL: it is another. */
void *ricci_function_user(const RicciValue *);

/* Makes an error, for `return ricci_fail(…)` in such a function: kind is one of RicciError's
 * (another is "value"), the rest is printf's. Also in a function of ricci_register, whatever it
 * returns, and outside of both, as the error of that call. Returns NULL. */
RicciValue *ricci_fail(Ricci *, const char *kind, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#ifdef __cplusplus
}
#endif
#endif
