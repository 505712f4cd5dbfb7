/* Values of a session as objects: Tensor with its operators, Function, Value. */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *TensorType, *FunctionType, *ValueType;

#define HANDLE_FLAGS \
    (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC)

PyObject *handle_new(PyTypeObject *type, Session *s, RicciValue *v)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Handle *h = (Handle *)alloc(type, 0);
    if (!h) {
        ricci_free(v);
        return NULL;
    }
    h->session = (Session *)Py_NewRef((PyObject *)s);
    h->v = v;
    return (PyObject *)h;
}

void handle_dealloc(PyObject *self)
{
    Handle *h = (Handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (h->session)
        session_drop(h->session, h->v);
    Py_XDECREF((PyObject *)h->session);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* A function that a session holds may hold a tensor of it. */
static int handle_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((Handle *)self)->session);
    return 0;
}

static PyObject *text_of(Handle *h, const char *(*text)(const RicciValue *))
{
    if (session_enter(h->session) < 0)
        return NULL;
    const char *utf8 = text(h->v);
    PyObject *o = utf8 ? PyUnicode_DecodeUTF8(utf8, (Py_ssize_t)strlen(utf8), "replace")
                       : (session_raise(h->session), NULL);
    session_leave(h->session);
    return o;
}

PyObject *handle_repr(PyObject *self) { return text_of((Handle *)self, ricci_repr); }
static PyObject *tensor_repr(PyObject *self) { return text_of((Handle *)self, ricci_echo); }

/* ---- calls ---- */
typedef struct Call {
    const char *name, *sign;         /* an operation's name, an operator's sign; else function */
    RicciValue *function;
    Args args;
    unsigned literals;
    RicciValue *made;
} Call;

static int call_work(Session *s, void *task)
{
    Call *c = task;
    Args *a = &c->args;
    if (c->sign)
        c->made = ricci_operate(s->r, c->sign, a->count, a->values, c->literals);
    else if (c->name)
        c->made = ricci_call(s->r, c->name, a->count, a->values);
    else
        c->made = ricci_call_named(c->function, a->count, a->named, a->values, a->names);
    return c->made == NULL;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *keywords,
                      PyObject *(*out)(Session *, RicciValue *))
{
    Handle *h = (Handle *)self;
    Call c = { .function = h->v };
    if (session_enter(h->session) < 0)
        return NULL;
    PyObject *result = NULL;
    if (args_in(h->session, &c.args, args, keywords) == 0) {
        int status = session_go(h->session, call_work, &c);
        args_done(h->session, &c.args);
        if (status == 0)
            result = out(h->session, c.made);
    }
    session_leave(h->session);
    return result;
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    return call(self, args, keywords, value_out);
}

/* Numbers stay tensors, with their dtypes: ricci.xp. */
static PyObject *function_tensors(PyObject *self, PyObject *args, PyObject *keywords)
{
    return call(self, args, keywords, tensor_out);
}

/* ---- operators ---- */
static bool is_operand(PyObject *o)
{
    return PyObject_TypeCheck(o, TensorType) || is_number(o) || PyList_Check(o) ||
           PyRange_Check(o) || (!PyUnicode_Check(o) && can_exchange(o));
}

static PyObject *operate(const char *sign, const char *name, int count, PyObject *a, PyObject *b)
{
    PyObject *operands[2] = { a, b };
    RicciValue *values[2];
    bool made[2] = { false, false };
    Call c = { .sign = sign, .name = name, .args = { .count = count, .values = values } };
    for (int i = 0; i < count; i++)
        if (!is_operand(operands[i]))
            return Py_NewRef(Py_NotImplemented);
    Session *s = ((Handle *)(PyObject_TypeCheck(a, TensorType) ? a : b))->session;
    if (session_enter(s) < 0)
        return NULL;
    PyObject *result = NULL;
    int got = 0;
    for (; got < count; got++) {
        c.literals |= (unsigned)is_number(operands[got]) << got;
        values[got] = value_in(s, operands[got], &made[got]);
        if (!values[got])
            break;
    }
    int status = got == count ? session_go(s, call_work, &c) : -1;
    for (int i = 0; i < got; i++)
        value_done(s, values[i], made[i]);
    if (status == 0)
        result = value_out(s, c.made);
    session_leave(s);
    return result;
}

#define BINARY(id, sign)                                                                          \
    static PyObject *nb_##id(PyObject *a, PyObject *b) { return operate(sign, NULL, 2, a, b); }
#define NAMED(id, name)                                                                           \
    static PyObject *nb_##id(PyObject *a, PyObject *b) { return operate(NULL, name, 2, a, b); }
#define UNARY(id, sign)                                                                           \
    static PyObject *nb_##id(PyObject *a) { return operate(sign, NULL, 1, a, NULL); }
BINARY(add, "+") BINARY(subtract, "-") BINARY(multiply, "*") BINARY(true_divide, "/")
BINARY(floor_divide, "//") BINARY(remainder, "%") BINARY(matmul, "@") BINARY(and, "&")
BINARY(or, "|") NAMED(xor, "xor") NAMED(lshift, "shl") NAMED(rshift, "shr")
UNARY(negative, "-") UNARY(positive, "+") UNARY(invert, "!")

static PyObject *nb_absolute(PyObject *a) { return operate(NULL, "abs", 1, a, NULL); }

static PyObject *nb_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return modulus == Py_None ? operate("^", NULL, 2, a, b) : Py_NewRef(Py_NotImplemented);
}

static PyObject *compare(PyObject *a, PyObject *b, int op)
{
    static const char *const signs[] = { [Py_LT] = "<", [Py_LE] = "<=", [Py_EQ] = "==",
                                         [Py_NE] = "!=", [Py_GT] = ">", [Py_GE] = ">=" };
    return operate(signs[op], NULL, 2, a, b);
}

/* ---- one element as a number ---- */
static PyObject *item(PyObject *self)
{
    Handle *h = (Handle *)self;
    if (session_enter(h->session) < 0)
        return NULL;
    PyObject *o = NULL;
    int rank = ricci_rank(h->v);
    const int64_t *shape = ricci_shape(h->v);
    bool one = true;
    for (int i = 0; i < rank; i++)
        one = one && shape[i] == 1;
    if (!one) {
        PyErr_SetString(PyExc_TypeError, "a tensor of one element is a number, this one has "
                        "several: ask any(x), all(x) or x[i]");
    } else {
        RicciIndex at[RICCI_INDEX_MAX];
        RicciValue *zero = ricci_int(h->session->r, 0);
        for (int i = 0; i < rank; i++)
            at[i] = (RicciIndex){ .kind = RICCI_VALUE, .value = zero };
        RicciValue *v = rank ? ricci_index(h->v, rank, at) : ricci_copy(h->v);
        o = v ? value_out(h->session, v) : (session_raise(h->session), NULL);
        ricci_free(zero);
        if (o && PyObject_TypeCheck(o, TensorType)) {        /* a format of its own */
            double f;
            Handle *number = (Handle *)o;
            int status = ricci_to_double(number->v, &f) ? session_raise(h->session) : 0;
            Py_DECREF(o);
            o = status == 0 ? PyFloat_FromDouble(f) : NULL;
        }
    }
    session_leave(h->session);
    return o;
}

static PyObject *as(PyObject *self, PyTypeObject *type)
{
    PyObject *number = item(self);
    PyObject *o = number ? PyObject_CallFunctionObjArgs((PyObject *)type, number, NULL) : NULL;
    Py_XDECREF(number);
    return o;
}

static PyObject *nb_float(PyObject *self) { return as(self, &PyFloat_Type); }
static PyObject *nb_int(PyObject *self) { return as(self, &PyLong_Type); }
static PyObject *to_complex(PyObject *self, PyObject *none)
{
    (void)none;
    return as(self, &PyComplex_Type);
}

static PyObject *to_item(PyObject *self, PyObject *none)
{
    (void)none;
    return item(self);
}

static PyObject *nb_index(PyObject *self)
{
    PyObject *number = item(self);
    PyObject *o = number ? PyNumber_Index(number) : NULL;
    Py_XDECREF(number);
    return o;
}

static int nb_bool(PyObject *self)
{
    PyObject *number = item(self);
    int truth = number ? PyObject_IsTrue(number) : -1;
    Py_XDECREF(number);
    return truth;
}

/* ---- indexing ---- */
typedef struct Key {
    int count, owned;
    RicciIndex at[RICCI_INDEX_MAX];
    RicciValue *own[4 * RICCI_INDEX_MAX];
} Key;

/* A part of the key as a value, or NULL with an exception. */
static const RicciValue *key_value(Session *s, Key *k, PyObject *o)
{
    bool made = true;
    RicciValue *v;
    if (PyLong_Check(o) || o == Py_None || PyList_Check(o) || can_exchange(o)) {
        v = value_in(s, o, &made);
    } else if (PyIndex_Check(o)) {
        PyObject *i = PyNumber_Index(o);
        v = i ? value_in(s, i, &made) : NULL;
        Py_XDECREF(i);
    } else {
        PyObject *name = PyType_GetName(Py_TYPE(o));
        PyErr_Format(PyExc_TypeError, "a subscript is an int, a slice, ..., None, a mask or a "
                     "tensor of ints, not a %S", name ? name : Py_None);
        Py_XDECREF(name);
        return NULL;
    }
    if (v && made)
        k->own[k->owned++] = v;
    return v;
}

static bool key_slice(Session *s, Key *k, PyObject *o, RicciIndex *at)
{
    static const char *const names[] = { "start", "stop", "step" };
    const RicciValue **parts[] = { &at->start, &at->stop, &at->step };
    at->kind = RICCI_SLICE;
    for (int i = 0; i < 3; i++) {
        PyObject *part = PyObject_GetAttrString(o, names[i]);
        if (!part)
            return false;
        if (part != Py_None)
            *parts[i] = key_value(s, k, part);
        bool good = part == Py_None || *parts[i];
        Py_DECREF(part);
        if (!good)
            return false;
    }
    return true;
}

static bool key_part(Session *s, Key *k, PyObject *o)
{
    if (k->count == RICCI_INDEX_MAX) {
        PyErr_SetString(PyExc_IndexError, "too many subscripts");
        return false;
    }
    RicciIndex *at = &k->at[k->count++];
    if (o == Py_Ellipsis) {
        at->kind = RICCI_ELLIPSIS;
        return true;
    }
    if (PySlice_Check(o))
        return key_slice(s, k, o, at);
    at->kind = RICCI_VALUE;
    return (at->value = key_value(s, k, o)) != NULL;
}

typedef struct Picking {
    Handle *h;
    Key *key;
    RicciValue *made;
} Picking;

static int pick_work(Session *s, void *task)
{
    Picking *p = task;
    (void)s;
    p->made = ricci_index(p->h->v, p->key->count, p->key->at);
    return p->made == NULL;
}

static PyObject *tensor_get(PyObject *self, PyObject *key)
{
    Handle *h = (Handle *)self;
    Session *s = h->session;
    Key k;
    memset(&k, 0, sizeof k);
    if (session_enter(s) < 0)
        return NULL;
    bool good = true;
    if (PyTuple_Check(key))
        for (Py_ssize_t i = 0; good && i < PyTuple_Size(key); i++)
            good = key_part(s, &k, PyTuple_GetItem(key, i));
    else
        good = key_part(s, &k, key);
    Picking p = { h, &k, NULL };
    PyObject *o = NULL;
    if (good && k.count == 0)
        o = Py_NewRef(self);
    else if (good && session_go(s, pick_work, &p) == 0)
        o = value_out(s, p.made);
    while (k.owned)
        ricci_free(k.own[--k.owned]);
    session_leave(s);
    return o;
}

static int tensor_set(PyObject *self, PyObject *key, PyObject *value)
{
    (void)self;
    (void)key;
    (void)value;
    PyErr_SetString(PyExc_TypeError, "a Tensor does not change: assign in the program, "
                    "r.eval(\"x[0] = 1\"), or in a copy, np.array(x)");
    return -1;
}

static PyObject *tensor_item(PyObject *self, Py_ssize_t i)
{
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *o = key ? tensor_get(self, key) : NULL;
    Py_XDECREF(key);
    return o;
}

static Py_ssize_t tensor_length(PyObject *self)
{
    Handle *h = (Handle *)self;
    if (session_enter(h->session) < 0)
        return -1;
    Py_ssize_t n = -1;
    if (ricci_rank(h->v) > 0)
        n = (Py_ssize_t)ricci_shape(h->v)[0];
    else
        PyErr_SetString(PyExc_TypeError, "a tensor of shape () has no length");
    session_leave(h->session);
    return n;
}

/* ---- what it is ---- */
static PyObject *get_shape(PyObject *self, void *none)
{
    Handle *h = (Handle *)self;
    (void)none;
    if (session_enter(h->session) < 0)
        return NULL;
    int rank = ricci_rank(h->v);
    PyObject *shape = PyTuple_New(rank);
    for (int i = 0; shape && i < rank; i++)
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(ricci_shape(h->v)[i]));
    session_leave(h->session);
    return shape;
}

static PyObject *get_ndim(PyObject *self, void *none)
{
    PyObject *shape = get_shape(self, none);
    PyObject *n = shape ? PyLong_FromSsize_t(PyTuple_Size(shape)) : NULL;
    Py_XDECREF(shape);
    return n;
}

static PyObject *get_size(PyObject *self, void *none)
{
    PyObject *shape = get_shape(self, none);
    long long size = 1;
    if (!shape)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_Size(shape); i++)
        size *= PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    Py_DECREF(shape);
    return PyLong_FromLongLong(size);
}

/* Of hardware's dtypes; a number of another format takes what the row nbytes says. */
static PyObject *get_nbytes(PyObject *self, void *none)
{
    (void)none;
    return PyObject_CallMethod((PyObject *)((Handle *)self)->session, "_nbytes", "O", self);
}

static PyObject *get_dtype(PyObject *self, void *none)
{
    (void)none;
    return text_of((Handle *)self, ricci_dtype);
}

static PyObject *get_device(PyObject *self, void *none)
{
    (void)none;
    return text_of((Handle *)self, ricci_device);
}

static PyObject *get_session(PyObject *self, void *none)
{
    (void)none;
    return Py_NewRef((PyObject *)((Handle *)self)->session);
}

/* An operation of that name on it, with more arguments. */
static PyObject *apply(PyObject *self, const char *name, PyObject *more)
{
    Handle *h = (Handle *)self;
    if (session_enter(h->session) < 0)
        return NULL;
    RicciValue *f = ricci_get(h->session->r, name);
    PyObject *o = f ? handle_new(FunctionType, h->session, f) : (session_raise(h->session), NULL);
    PyObject *result = o ? PyObject_CallFunctionObjArgs(o, self, more, NULL) : NULL;
    Py_XDECREF(o);
    session_leave(h->session);
    return result;
}

static PyObject *get_t(PyObject *self, void *none)
{
    (void)none;
    return apply(self, "transpose", NULL);
}

/* The last two axes change places, without conj. */
static PyObject *get_mt(PyObject *self, void *none)
{
    Handle *h = (Handle *)self;
    (void)none;
    if (session_enter(h->session) < 0)
        return NULL;
    int rank = ricci_rank(h->v);
    session_leave(h->session);
    if (rank < 2) {
        PyErr_SetString(PyExc_ValueError, "mT is of tensors with two axes and more");
        return NULL;
    }
    PyObject *axes = PyTuple_New(rank);
    for (int i = 0; axes && i < rank; i++)
        PyTuple_SetItem(axes, i, PyLong_FromLong(i < rank - 2 ? i : i == rank - 2 ? rank - 1
                                                                                   : rank - 2));
    PyObject *o = axes ? apply(self, "transpose", axes) : NULL;
    Py_XDECREF(axes);
    return o;
}

static PyObject *tensor_as(PyObject *self, PyObject *dtype)
{
    return PyObject_CallMethod(((PyObject *)((Handle *)self)->session), "_astype", "OO", self,
                               dtype);
}

static PyObject *tensor_to(PyObject *self, PyObject *device)
{
    return PyObject_CallMethod(((PyObject *)((Handle *)self)->session), "_to", "OO", self, device);
}

/* to_device(device, /, *, stream=None), as the array API calls it. */
static PyObject *tensor_to_device(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *device = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    PyObject *stream = keywords ? PyDict_GetItemString(keywords, "stream") : NULL;
    if (device && (!stream || stream == Py_None))
        return tensor_to(self, device);
    PyErr_SetString(PyExc_TypeError, "to_device takes a device, and no stream");
    return NULL;
}

static PyObject *tensor_namespace(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)self;
    (void)args;
    (void)keywords;
    return PyImport_ImportModule("ricci.xp");
}

/* NumPy asks it where the buffer protocol has no format. */
static PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    PyObject *dtype = get_dtype(self, NULL);
    if (dtype)
        PyErr_Format(PyExc_TypeError, "NumPy has no dtype for %U: x.astype(\"f32\") first", dtype);
    Py_XDECREF(dtype);
    return NULL;
}

/* copy.copy and copy.deepcopy: a value is its own copy. */
static PyObject *tensor_itself(PyObject *self, PyObject *memo)
{
    (void)memo;
    Py_INCREF(self);
    return self;
}

static PyObject *tensor_reduce(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *module = PyImport_ImportModule("ricci._pickle");
    PyObject *o = module ? PyObject_CallMethod(module, "parts", "O", self) : NULL;
    Py_XDECREF(module);
    return o;
}

static PyMethodDef methods[] = {
    { "__reduce__", tensor_reduce, METH_NOARGS, NULL },
    { "__copy__", tensor_itself, METH_NOARGS, NULL },
    { "__deepcopy__", tensor_itself, METH_O, NULL },
    { "to", tensor_to, METH_O, "to(device): on another device." },
    { "to_device", (PyCFunction)(void (*)(void))tensor_to_device, METH_VARARGS | METH_KEYWORDS,
      "to_device(device, /, *, stream=None): as to(device)." },
    { "astype", tensor_as, METH_O, "astype(dtype): in another dtype." },
    { "item", to_item, METH_NOARGS, "The one element as a number." },
    { "__complex__", to_complex, METH_NOARGS, NULL },
    { "__array__", (PyCFunction)(void (*)(void))tensor_array, METH_VARARGS | METH_KEYWORDS, NULL },
    { "__array_namespace__", (PyCFunction)(void (*)(void))tensor_namespace,
      METH_VARARGS | METH_KEYWORDS, NULL },
    { "__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
      "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)" },
    { "_alone", (PyCFunction)(void (*)(void))tensor_alone, METH_NOARGS, NULL },
    { "__dlpack_device__", (PyCFunction)(void (*)(void))tensor_dlpack_device, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef attributes[] = {
    { "shape", get_shape, NULL, "lengths of the axes", NULL },
    { "ndim", get_ndim, NULL, "number of axes", NULL },
    { "size", get_size, NULL, "number of elements", NULL },
    { "nbytes", get_nbytes, NULL, "bytes of the elements", NULL },
    { "dtype", get_dtype, NULL, "the dtype's name", NULL },
    { "device", get_device, NULL, "the device's name", NULL },
    { "session", get_session, NULL, "whose value it is", NULL },
    { "T", get_t, NULL, "transposed", NULL },
    { "mT", get_mt, NULL, "the last two axes in each other's place", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_dealloc, handle_dealloc },
    { Py_tp_traverse, handle_traverse },
    { Py_tp_repr, tensor_repr },
    { Py_tp_methods, methods },
    { Py_tp_getset, attributes },
    { Py_tp_richcompare, compare },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { Py_mp_subscript, tensor_get },
    { Py_mp_ass_subscript, tensor_set },
    { Py_mp_length, tensor_length },
    { Py_sq_item, tensor_item },
    { Py_sq_length, tensor_length },
    { Py_nb_add, nb_add },
    { Py_nb_subtract, nb_subtract },
    { Py_nb_multiply, nb_multiply },
    { Py_nb_true_divide, nb_true_divide },
    { Py_nb_floor_divide, nb_floor_divide },
    { Py_nb_remainder, nb_remainder },
    { Py_nb_power, nb_power },
    { Py_nb_matrix_multiply, nb_matmul },
    { Py_nb_and, nb_and },
    { Py_nb_or, nb_or },
    { Py_nb_xor, nb_xor },
    { Py_nb_lshift, nb_lshift },
    { Py_nb_rshift, nb_rshift },
    { Py_nb_negative, nb_negative },
    { Py_nb_positive, nb_positive },
    { Py_nb_invert, nb_invert },
    { Py_nb_absolute, nb_absolute },
    { Py_nb_bool, nb_bool },
    { Py_nb_int, nb_int },
    { Py_nb_float, nb_float },
    { Py_nb_index, nb_index },
    { Py_bf_getbuffer, tensor_buffer },
    { Py_bf_releasebuffer, tensor_buffer_release },
    { 0, NULL },
};
PyType_Spec tensor_spec = {
    "ricci.Tensor", sizeof(Handle), 0, HANDLE_FLAGS, slots,
};

/* ---- the others ---- */
static PyGetSetDef session_attribute[] = {
    { "session", get_session, NULL, "whose value it is", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef function_methods[] = {
    { "_tensors", (PyCFunction)(void (*)(void))function_tensors, METH_VARARGS | METH_KEYWORDS,
      NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot function_slots[] = {
    { Py_tp_methods, function_methods },
    { Py_tp_dealloc, handle_dealloc },
    { Py_tp_traverse, handle_traverse },
    { Py_tp_repr, handle_repr },
    { Py_tp_call, function_call },
    { Py_tp_getset, session_attribute },
    { 0, NULL },
};
PyType_Spec function_spec = {
    "ricci.Function", sizeof(Handle), 0, HANDLE_FLAGS, function_slots,
};

static PyObject *value_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    return function_call(self, args, keywords);      /* formats are called too */
}

static PyType_Slot value_slots[] = {
    { Py_tp_dealloc, handle_dealloc },
    { Py_tp_traverse, handle_traverse },
    { Py_tp_repr, handle_repr },
    { Py_tp_call, value_call },
    { Py_tp_getset, session_attribute },
    { 0, NULL },
};
PyType_Spec value_spec = {
    "ricci.Value", sizeof(Handle), 0, HANDLE_FLAGS, value_slots,
};
