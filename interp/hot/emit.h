/* Making the code of a loop: what the files of the room share. A walk over executable nodes makes
 * LLVM's instructions; `dry` it makes none, and finds out what variables hold where. */
#ifndef RICCI_INTERP_HOT_EMIT_H
#define RICCI_INTERP_HOT_EMIT_H

#include "interp/hot/code.h"

enum { PATH_MOST = 64, EXITS_MOST = 400, WORK_MOST = 200000, PROVEN_MOST = 32, FRAMES_MOST = 16,
       SELF_CALLS = 3 };

/* A value while code is made. v: an i64, a double or an i1; of a number the double that it is as a
 * float, so of an f32; of a narrow int an i64. HK_NOTHING: machine code cannot have it. */
typedef struct Val {
    HotKind kind;
    LlValue v;
    LlValue bits, tag;               /* of a number: the int that it is, if it is one; its Tag */
    LlValue im;                      /* of a complex number, v: its real part */
    bool weak;                       /* a literal or pi, which adapts to the other operand … */
    double single;                   /* … and what it is as an f32 */
} Val;

/* What variables hold at a place. MAYBE: or nothing yet. MIXED: one thing or another. BEFORE: it
 * may be what they held when the code was entered. */
enum { KIND_MIXED = 32, KIND_MAYBE = 64, KIND_BEFORE = 128,
       KIND_BITS = KIND_MAYBE | KIND_BEFORE };
typedef struct State {
    bool reached;
    uint8_t kind[HOT_VARIABLES];
} State;

/* A loop around what is being made. */
typedef struct Around {
    struct Around *up;
    const Exec *x;
    int level;
    uint32_t frame;
    bool counts;                     /* a range, or the indices of a vector; else `while` */
    uint32_t over;                   /* the variable of the vector + 1 */
    bool goes_on;                    /* machine code can do an iteration, or a loop in it */
    LlValue stop, step;              /* NULL stop: the iterations left are counted */
    LlBlock next, out;               /* continue, break */
    State at_next, at_out;
} Around;

/* A call that is part of the loop: its function's variables are the code's. Where machine code
 * cannot do something in it, it leaves before the statement with the call, as nothing has happened
 * yet: such a function changes variables of its own alone. */
typedef struct Frame {
    const Exec *site;
    uint32_t up;
    const Function *fn;
    struct { bool is; uint32_t variable; } same[HOT_PARAMETERS];    /* of a tensor or function */
    uint32_t fields;                 /* of the tuple that is its value; 0: that is one value */
    const Name *const *names;        /* of them; NULL: they have none */
    LlBlock end;
    State at_end;
} Frame;

typedef struct Slots { LlValue bits, real, tag, im; } Slots;

typedef struct Emit {
    Interp *in;
    MachineDraft d;
    MachineKind kind;
    bool dry, failed, vectors;
    bool scoped;                     /* inside a precision scope, */
    HotKind own;                     /* whose results are HK_SINGLE, or in f64 HK_FLOAT, */
    DType format;                    /* of this format; DT_NONE */
    Value vector;                    /* that the outermost loop goes over, or V_UNDEF */
    LlType flag, word, real, pair, small, single;    /* i1 i64 double {i64, i1} i32 float */
    LlValue function, record, exit_id, rare;
    LlValue interrupt, nudge;        /* pointers to them; NULL: the record is asked */
    LlBlock entry, leave;
    unsigned rare_kind;
    HotVariable variables[HOT_VARIABLES];
    uint32_t count;
    uint64_t used;                   /* variables that this walk asked for, */
    uint8_t order[HOT_VARIABLES];    /* in the order in which it did, */
    uint32_t used_count;             /* so many */
    Slots slots[HOT_VARIABLES];
    struct { LlValue data, dims[HOT_RANK], strides[HOT_RANK]; } tensors[HOT_VARIABLES];
    LlValue at[HOT_DEPTH], left[HOT_DEPTH];
    LlValue counted, mark;           /* inexact results; so many when the statement began */
    bool draws;                      /* random numbers are drawn, */
    LlValue drawn, drawn_mark;       /* pointers to how many were, and were at its beginning */
    State state;
    Around *around;
    Frame frames[FRAMES_MOST];       /* from 1 on */
    uint32_t frame, frame_count;
    uint32_t result;                 /* the variable of a function's value */
    HotPlace path[PATH_MOST];
    uint32_t depth;
    uint32_t levels;                 /* of nodes in each other that bodies of calls may add */
    LlBlock out;                     /* where the statement being made leaves to, once it does */
    HotPath exits[EXITS_MOST];
    uint32_t exit_count, work;
    /* of an innermost loop: element accesses whose subscripts are in range, asked before it */
    const Exec *proven[PROVEN_MOST];
    uint32_t proven_count;
    bool collecting;                 /* they are being looked for */
    uint32_t loop_variable;
    uint64_t written;                /* variables that the body wrote to */
    /* of a function that is compiled by itself, and may call itself: fn NULL for a loop */
    struct {
        const Function *fn;
        const Exec *calls[SELF_CALLS + 1];       /* of itself, one more: too many */
        uint32_t call_count;
        uint8_t kinds[HOT_PARAMETERS], result;
        LlValue function, depth;
        LlType type, pair;
    } self;
    bool grew;                       /* more was learned of variables: once more */
    bool loops;                      /* a loop was walked over */
    bool hopeless;
} Emit;

/* ---- values.c: variables, instructions, leaving ---- */
uint32_t variable_of(Emit *, const Value *at, uint32_t slot);    /* of the frame being made */
uint32_t variable_in(Emit *, uint32_t frame, const Value *at, uint32_t slot);
/* A field of a variable that nobody assigns; false: it is none. */
bool variable_field(Emit *, uint32_t base, const Name *, uint32_t *variable);
uint32_t variable_over(Emit *);      /* what the outermost loop goes over */
void state_start(Emit *);
State state_join(const State *, const State *);
Val variable_read(Emit *, uint32_t variable);
uint8_t variable_kind(Emit *, uint32_t variable);
void variable_write(Emit *, uint32_t variable, Val);

LlValue op2(Emit *, int opcode, LlValue, LlValue);
LlValue compare_ints(Emit *, int predicate, LlValue, LlValue);
LlValue compare_floats(Emit *, int predicate, LlValue, LlValue);
LlValue choose(Emit *, LlValue, LlValue, LlValue);
LlValue negated(Emit *, LlValue flag);
LlValue minus(Emit *, LlValue real);
LlValue cast(Emit *, int opcode, LlValue, LlType);
LlValue word(Emit *, int64_t);
LlValue real(Emit *, double);
LlValue load(Emit *, LlType, LlValue from);
void store(Emit *, LlValue, LlValue to);
LlValue word_at(Emit *, uint32_t offset, LlType of);     /* of the record: a pointer */
LlBlock block_new(Emit *, const char *name);
void block_enter(Emit *, LlBlock);
void jump(Emit *, LlBlock);
void branch(Emit *, LlValue, LlBlock yes, LlBlock no);
void unless(Emit *, LlValue bad, LlBlock to);        /* goes on here, but there if so: rarely */
void guard(Emit *, LlValue bad);     /* leaves before the statement, if so */
LlValue with_overflow(Emit *, const char *intrinsic, LlValue, LlValue, LlValue *over);
LlValue call_pointer(Emit *, void *address, LlType result, LlType *, LlValue *, unsigned count);
Val unknown(Emit *);                 /* machine code cannot have this */
LlValue as_float(Emit *, Val);
void ints_exact(Emit *, Val);        /* leaves where an int is no double exactly */
/* The nearest HK_SINGLE to a double; of f16 and bf16 where that is in the range of normal ones. */
LlValue rounded(Emit *, LlValue);
int significand_of(DType format);    /* bits */
LlValue as_single(Emit *, Val);      /* of an f32, an int or what is weak: it leaves for others */
void path_push(Emit *, const Exec *, HotStep, uint32_t index);
/* Sets the place on top of the path, where it is the loop's own code; what it was. */
HotPlace place_set(Emit *, const HotPlace *);
/* begun: in the midst of a statement. */
LlBlock leave_block(Emit *, const HotPlace *last, bool begun, bool iteration_done);
LlBlock out_of_statement(Emit *);
void leave_now(Emit *);              /* whatever happens */

/* ---- expression.c ---- */
Val expression(Emit *, const Exec *);
void condition_emit(Emit *, const Exec *, LlBlock yes, LlBlock no);
void condition_dry(Emit *, const Exec *);            /* in a dry walk */
Val binary_emit(Emit *, int op, Val, Val);
int comparison_of_floats(int op);    /* the predicate; -1: it is none */
static inline bool is_number(Val v)
{
    return v.kind == HK_INT || v.kind == HK_FLOAT || v.kind == HK_NUMBER || v.kind == HK_SINGLE ||
           v.kind == HK_EITHER;
}
bool is_int_constant(const Exec *, int64_t *);
/* The variable that a name, or a field of one, is; false: it is none. */
bool name_variable(Emit *, const Exec *, uint32_t *variable);
/* Which function of the program's a call calls; NULL: none. */
const Function *function_called(Emit *, const Exec *call);
Val constant_emit(Emit *, Value);    /* a number or a bool */
/* shape(x)[k] as a number; false: it is none. */
bool shape_read(Emit *, const Exec *, Val *out);
/* Is it a parameter that stands for a variable of the caller's? Nobody may assign it then. */
bool stands_for_another(const Emit *, uint32_t slot);

/* ---- complex.c: where an operand is complex ---- */
Val complex_binary(Emit *, int op, Val, Val);
Val complex_of(Emit *, DType, const Exec *call);     /* the dtype: its name's */
Val complex_row(Emit *, const Op *, Val, Val, bool two);

/* ---- integer.c ---- */
/* Of one int or two, by a call with so many arguments; false: it is none of these. */
bool row_of_ints(Emit *, const Op *, const Exec *call, Val, Val, Val *out);
Val power_of_ints(Emit *, Val, Val);

/* ---- narrow.c: ints of i8, u8, i32 ---- */
Val whole_of(Val);                   /* of a narrow int the int that it is; else itself */
Val narrow_of(Emit *, HotKind, LlValue);         /* it leaves where that does not fit */
void narrow_fits(Emit *, HotKind, LlValue);
Val narrow_binary(Emit *, int op, Val, Val);     /* one of them is one */
/* By a call with one or two operands, one of them narrow. */
Val narrow_row(Emit *, const Op *, const Exec *call, Val, Val);

/* ---- stream.c: random numbers ---- */
Val draw_emit(Emit *, const Op *, const Exec *call);
void stream_begin(Emit *);             /* a statement begins */
void stream_undo(Emit *);              /* it is left */

/* ---- element.c ---- */
LlType element_type(const Emit *, DType);
Val element_read_emit(Emit *, const Exec *);
/* Of a vector, the one at index i, which is in range. */
Val element_item(Emit *, uint32_t base, LlValue i);
/* Of a tuple: what stands there, a value or its fields; goes elsewhere if it is something else. */
void items_emit(Emit *, uint32_t base, LlValue i, LlBlock other, Val *out);
/* base[subscripts] = v, op -1, or op= v */
bool element_store_emit(Emit *, uint32_t base, const Exec *target, Val, int op);
/* In two steps, the first of which may leave. Dry, the place is NULL. */
bool element_place_emit(Emit *, uint32_t base, const Exec *target, Val, LlValue *place,
                        Val *element);
void element_put(Emit *, uint32_t base, LlValue place, Val element);
/* Goes to `careful` where not all proven accesses of the loop are in range for its variable from
 * `first` to `last`; up: which is not less. */
typedef struct Way { LlValue first, last; bool up; } Way;
void proven_hold(Emit *, const Way *, LlBlock careful);

/* ---- statement.c ---- */
typedef void (*EmitFn)(Emit *, const Exec *);
void statement(Emit *, const Exec *);
void branches_emit(Emit *, const Exec *, EmitFn);    /* an if, what it guards made by that */
bool can(Emit *, EmitFn, const Exec *);              /* dry: would it fail? */

/* ---- scoped.c: inside `precision f32` ---- */
void count_begin(Emit *);            /* a statement begins */
LlValue scoped_operand(Emit *, Val);
Val scoped_binary(Emit *, int op, Val, Val);     /* of numbers, not both ints that stay ints */
LlValue scoped_root(Emit *, LlValue f, LlValue root);
void scoped_result(Emit *, const Op *, LlValue);

/* ---- function.c ---- */
Val call_function(Emit *, const Exec *call, const Function *);
/* Of a function that gives a tuple: its fields, so many, with these names or without (NULL). */
void call_unpacked(Emit *, const Exec *call, const Name *const *names, uint32_t fields, Val *out);
/* The same of a tuple that is written in place. */
void fields_emit(Emit *, const Exec *, const Name *const *names, uint32_t fields, Val *out);
void return_emit(Emit *, const Exec *);
void function_emit(Emit *);                  /* the body of e->self */
LlType type_of_kind(const Emit *, uint8_t kind);

/* ---- loop.c ---- */
void for_emit(Emit *, const Exec *, bool outermost);
void while_emit(Emit *, const Exec *);
bool loop_target(const Exec *);      /* of a `for` over anything: does code have such? */

#endif
