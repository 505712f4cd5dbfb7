/* Values between Python and a session, both ways. With the session taken and the GIL held. */
#include "ext.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- in: what there is ---- */
/* The class of a module that is loaded, or NULL: an object of it cannot exist then. Borrowed. */
static PyObject *class_of(const char *module, const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *m = modules ? PyDict_GetItemString(modules, module) : NULL;
    PyObject *class = m ? PyObject_GetAttrString(m, name) : NULL;
    if (!class)
        PyErr_Clear();
    Py_XDECREF(class);                       /* the module has it */
    return class;
}

static bool is_a(PyObject *o, const char *module, const char *name)
{
    PyObject *class = class_of(module, name);
    return class && PyObject_IsInstance(o, class) == 1;
}

bool is_number(PyObject *o)
{
    return PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o);
}

static RicciValue *number_in(Session *s, PyObject *o)
{
    if (PyBool_Check(o))
        return ricci_bool(s->r, o == Py_True);
    if (PyLong_Check(o)) {
        int over;
        long long i = PyLong_AsLongLongAndOverflow(o, &over);
        if (over) {
            PyErr_SetString(PyExc_OverflowError, "an int of Ricci has 64 bits");
            return NULL;
        }
        return ricci_int(s->r, i);
    }
    if (PyFloat_Check(o))
        return ricci_double(s->r, PyFloat_AsDouble(o));
    double z[2] = { PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o) };
    return ricci_tensor(s->r, ricci_wrap("c128", 0, NULL, z, NULL, NULL));
}

/* An exact number by its text, through the format as a cast. */
static RicciValue *exact_in(Session *s, PyObject *o, RicciValue *format)
{
    PyObject *text = PyObject_Str(o);
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    RicciValue *string = utf8 ? ricci_string(s->r, utf8, strlen(utf8)) : NULL, *v = NULL;
    if (string && format)
        v = ricci_call_value(format, 1, &string);
    ricci_free(string);
    ricci_free(format);
    Py_XDECREF(text);
    return v;
}

/* decimal(d) with the digits that it has, at least one. */
static RicciValue *decimal_in(Session *s, PyObject *o)
{
    PyObject *parts = PyObject_CallMethod(o, "as_tuple", NULL);
    PyObject *digits = parts ? PyObject_GetAttrString(parts, "digits") : NULL;
    Py_ssize_t n = digits ? PyTuple_Size(digits) : -1;
    Py_XDECREF(parts);
    Py_XDECREF(digits);
    if (n < 0)
        return NULL;
    RicciValue *count = ricci_int(s->r, n < 1 ? 1 : n), *format = NULL;
    if (count)
        format = ricci_call(s->r, "decimal", 1, &count);
    ricci_free(count);
    return format ? exact_in(s, o, format) : NULL;
}

static RicciValue *range_in(Session *s, PyObject *o)
{
    static const char *const names[] = { "start", "stop", "step" };
    int64_t at[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        PyObject *part = PyObject_GetAttrString(o, names[i]);
        at[i] = part ? PyLong_AsLongLong(part) : -1;
        Py_XDECREF(part);
        if (PyErr_Occurred())
            return NULL;
    }
    return ricci_range(s->r, at[0], at[1], at[2]);
}

/* ---- in: tuples ---- */
/* The names of a named tuple's items, or NULL without an exception: it has none. */
static PyObject *fields_of(PyObject *tuple)
{
    PyObject *fields = PyObject_GetAttrString(tuple, "_fields");
    if (fields && PyTuple_Check(fields) && PyTuple_Size(fields) == PyTuple_Size(tuple))
        return fields;
    PyErr_Clear();
    Py_XDECREF(fields);
    return NULL;
}

static RicciValue *items_in(Session *s, PyObject *tuple, PyObject *fields, Py_ssize_t n)
{
    RicciValue **items = calloc((size_t)n + 1, sizeof *items), *v = NULL;
    const char **names = calloc((size_t)n + 1, sizeof *names);
    bool *made = calloc((size_t)n + 1, sizeof *made), good = items && names && made;
    if (!good)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *field = fields ? PyTuple_GetItem(fields, i) : Py_None;
        names[i] = field && field != Py_None ? PyUnicode_AsUTF8AndSize(field, NULL) : NULL;
        items[i] = value_in(s, PyTuple_GetItem(tuple, i), &made[i]);
        good = items[i] && !PyErr_Occurred();
    }
    if (good && !(v = ricci_tuple(s->r, (int)n, items, fields ? names : NULL)))
        session_raise(s);
    for (Py_ssize_t i = 0; items && made && i < n; i++)
        value_done(s, items[i], made[i]);
    free(items);
    free(names);
    free(made);
    return v;
}

static RicciValue *tuple_in(Session *s, PyObject *o)
{
    if (Py_EnterRecursiveCall(" while a tuple goes to Ricci"))
        return NULL;
    PyObject *tuple = PyTuple_Check(o) ? Py_NewRef(o) : PyList_AsTuple(o);
    RicciValue *v = NULL;
    if (tuple) {
        PyObject *fields = PyTuple_CheckExact(tuple) ? NULL : fields_of(tuple);
        v = items_in(s, tuple, fields, PyTuple_Size(tuple));
        Py_XDECREF(fields);
    }
    Py_XDECREF(tuple);
    Py_LeaveRecursiveCall();
    return v;
}

/* ---- in: lists of numbers ---- */
enum { RANK_MAX = 32 };
enum { KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX, KIND_OTHER };

typedef struct Nest {
    int rank, kind;
    int64_t shape[RANK_MAX];
} Nest;

/* Of a number of Python, or a scalar of NumPy, which says so by dtype.kind. */
static int kind_of(PyObject *o)
{
    if (is_number(o))
        return PyBool_Check(o) ? KIND_BOOL : PyLong_Check(o) ? KIND_INT
               : PyFloat_Check(o) ? KIND_FLOAT : KIND_COMPLEX;
    if (PyUnicode_Check(o) || PyObject_TypeCheck(o, TensorType))
        return KIND_OTHER;
    PyObject *shape = PyObject_GetAttrString(o, "shape");
    bool scalar = shape && PyTuple_Check(shape) && PyTuple_Size(shape) == 0;
    PyObject *dtype = scalar ? PyObject_GetAttrString(o, "dtype") : NULL;
    PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
    const char *text = kind && PyUnicode_Check(kind) ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
    int found = !text ? KIND_OTHER : *text == 'b' ? KIND_BOOL : strchr("iu", *text) ? KIND_INT
                : *text == 'f' ? KIND_FLOAT : *text == 'c' ? KIND_COMPLEX : KIND_OTHER;
    PyErr_Clear();
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(kind);
    return found;
}

static bool is_sequence(PyObject *o) { return PyList_Check(o) || PyTuple_Check(o); }

/* The kind of numbers, which shape they have: false where rows differ or something is no number. */
static bool look(PyObject *o, Nest *n, int depth)
{
    if (!is_sequence(o)) {
        int kind = kind_of(o);
        n->kind = kind > n->kind ? kind : n->kind;
        if (n->rank < 0)
            n->rank = depth;
        return kind != KIND_OTHER && n->rank == depth;
    }
    Py_ssize_t length = PySequence_Size(o);
    if (depth >= RANK_MAX || (n->rank >= 0 && depth >= n->rank))
        return false;
    if (n->shape[depth] < 0)
        n->shape[depth] = length;
    if (n->shape[depth] != length)
        return false;
    for (Py_ssize_t i = 0; i < length; i++)
        if (!look(PyList_Check(o) ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), n, depth + 1))
            return false;
    if (length == 0 && n->rank < 0) {
        n->rank = depth + 1;
        n->kind = n->kind < KIND_FLOAT ? KIND_FLOAT : n->kind;
    }
    return true;
}

static char *fill(PyObject *o, int kind, char *to);

/* A scalar of NumPy by way of the number of Python that it is. */
static char *fill_scalar(PyObject *o, int kind, char *to)
{
    PyObject *number = PyObject_CallMethod(o, "item", NULL);
    bool plain = number && is_number(number);
    char *end = plain ? fill(number, kind, to) : NULL;
    if (number && !plain)
        PyErr_SetString(PyExc_TypeError, "a scalar that is no number of Python");
    Py_XDECREF(number);
    return end;
}

static char *fill(PyObject *o, int kind, char *to)
{
    if (is_sequence(o)) {
        Py_ssize_t length = PySequence_Size(o);
        for (Py_ssize_t i = 0; i < length && to; i++)
            to = fill(PyList_Check(o) ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), kind, to);
        return to;
    }
    if (!is_number(o))
        return fill_scalar(o, kind, to);
    int over = 0;
    switch (kind) {
    case KIND_BOOL: *to = o == Py_True; return to + 1;
    case KIND_INT: {
        int64_t i = PyLong_AsLongLongAndOverflow(o, &over);
        memcpy(to, &i, sizeof i);
        if (over)
            PyErr_SetString(PyExc_OverflowError, "an int of Ricci has 64 bits");
        return over ? NULL : to + sizeof i;
    }
    case KIND_FLOAT: {
        double f = PyFloat_AsDouble(o);
        memcpy(to, &f, sizeof f);
        return f == -1 && PyErr_Occurred() ? NULL : to + sizeof f;
    }
    default: {
        double z[2] = { PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o) };
        memcpy(to, z, sizeof z);
        return PyErr_Occurred() ? NULL : to + sizeof z;
    }
    }
}

RicciValue *list_in(Session *s, PyObject *o, bool *tried)
{
    static const char *const dtypes[] = { "bool", "i64", "f64", "c128" };
    static const int bytes[] = { 1, 8, 8, 16 };
    Nest n = { .rank = -1 };
    for (int i = 0; i < RANK_MAX; i++)
        n.shape[i] = -1;
    *tried = look(o, &n, 0);
    if (!*tried)
        return NULL;
    size_t size = 1;
    for (int i = 0; i < n.rank; i++)
        size *= (size_t)n.shape[i];
    char *data = malloc(size * (size_t)bytes[n.kind] + 1);
    if (!data)
        return (RicciValue *)PyErr_NoMemory();
    RicciValue *v = NULL;
    struct DLManagedTensorVersioned *m = NULL;
    if (fill(o, n.kind, data))
        m = ricci_wrap(dtypes[n.kind], n.rank, n.shape, data, free, data);
    if (!m)
        free(data);
    if (m && !(v = ricci_tensor(s->r, m)))
        session_raise(s);
    return v;
}

/* ---- in: functions ---- */
static void callback_release(void *user)
{
    Callback *c = user;
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    *(c->before ? &c->before->next : &c->session->callbacks) = c->next;
    if (c->next)
        c->next->before = c->before;
    Py_DECREF(c->function);
    free(c);
    PyGILState_Release(gil);
}

/* What was raised is kept, and its text goes on into the program. */
static RicciValue *fail_with_exception(Session *s)
{
    bool ends = !PyErr_ExceptionMatches(PyExc_Exception);
    Py_CLEAR(s->type);
    Py_CLEAR(s->value);
    Py_CLEAR(s->trace);
    free(s->text);
    PyErr_Fetch(&s->type, &s->value, &s->trace);
    PyErr_NormalizeException(&s->type, &s->value, &s->trace);
    if (s->trace)
        PyException_SetTraceback(s->value, s->trace);
    PyObject *name = PyType_GetName((PyTypeObject *)s->type), *text = PyObject_Str(s->value);
    PyObject *both = name && text ? PyUnicode_FromFormat("%U: %U", name, text) : NULL;
    const char *utf8 = both ? PyUnicode_AsUTF8AndSize(both, NULL) : NULL;
    ricci_fail(s->r, ends ? "interrupt" : "throw", "%s", utf8 ? utf8 : "an exception of Python");
    PyErr_Clear();
    const RicciError *e = ricci_error_parts(s->r);
    s->text = strdup(e ? e->message : "");
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(both);
    return NULL;
}

static PyObject *arguments_out(Session *s, int count, RicciValue *const *args, int named,
                               const char *const *names, PyObject **keywords)
{
    PyObject *tuple = PyTuple_New(count), *dict = named ? PyDict_New() : NULL;
    bool good = tuple && (dict || !named);
    for (int i = 0; good && i < count + named; i++) {
        RicciValue *copy = ricci_copy(args[i]);
        PyObject *o = copy ? value_out(s, copy) : (session_raise(s), NULL);
        if (o && i < count)
            PyTuple_SetItem(tuple, i, o);
        else if (o) {
            good = PyDict_SetItemString(dict, names[i - count], o) == 0;
            Py_DECREF(o);
        }
        good = good && o;
    }
    if (!good) {
        Py_XDECREF(tuple);
        Py_XDECREF(dict);
        return NULL;
    }
    *keywords = dict;
    return tuple;
}

static RicciValue *callback_call(Ricci *r, void *user, int count, RicciValue *const *args,
                                 int named, const char *const *names)
{
    Callback *c = user;
    Session *s = c->session;
    PyGILState_STATE gil = PyGILState_Ensure();
    Signals signals = signals_pause();
    RicciValue *result = NULL;
    bool made = false;
    PyObject *keywords = NULL, *function = Py_NewRef(c->function);
    s->depth++;
    PyObject *tuple = arguments_out(s, count, args, named, names, &keywords);
    PyObject *o = tuple ? PyObject_Call(function, tuple, keywords) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    Py_DECREF(function);
    RicciValue *v = o ? value_in(s, o, &made) : NULL;
    if (v)
        result = made ? v : ricci_copy(v);
    Py_XDECREF(o);
    while (s->trashed)
        ricci_free(s->trash[--s->trashed]);
    if (!result)
        fail_with_exception(s);
    s->depth--;
    signals_resume(signals);
    PyGILState_Release(gil);
    (void)r;
    return result;
}

static RicciValue *function_in(Session *s, PyObject *o)
{
    Callback *c = calloc(1, sizeof *c);
    if (!c)
        return (RicciValue *)PyErr_NoMemory();
    PyObject *name = PyObject_GetAttrString(o, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    c->session = s;
    c->function = Py_NewRef(o);
    c->next = s->callbacks;
    if (c->next)
        c->next->before = c;
    s->callbacks = c;
    RicciValue *v = ricci_function(s->r, text && strcmp(text, "<lambda>") ? text : "f",
                                   callback_call, c, callback_release);
    Py_XDECREF(name);
    if (!v)
        session_raise(s);
    return v;
}

/* ---- in ---- */
static RicciValue *handle_in(Session *s, Handle *h)
{
    if (h->session != s) {
        const char *what = "the value belongs to another session",
                   *help = "take it out first, as an array or a number: np.asarray(x)",
                   *report = "error[value]: the value belongs to another session\n"
                             "help: take it out first, as an array or a number: np.asarray(x)";
        PyObject *parts = Py_BuildValue("(sssssii)", "value", report, what, help, "", 0, 0);
        PyObject *e = parts ? PyObject_CallFunctionObjArgs(ErrorMaker, parts, Py_None, NULL) : NULL;
        if (e)
            PyErr_SetObject((PyObject *)Py_TYPE(e), e);
        Py_XDECREF(parts);
        Py_XDECREF(e);
        return NULL;
    }
    return h->v;
}

static RicciValue *exchanged_in(Session *s, PyObject *o)
{
    struct DLManagedTensorVersioned *m = tensor_in(s, o);
    RicciValue *v = m ? ricci_tensor(s->r, m) : NULL;
    if (m && !v)
        session_raise(s);
    return v;
}

/* ---- in: sparse matrices of SciPy ---- */
/* What has `tocoo` gives its entries: sparse(row, col, data, shape). */
static RicciValue *sparse_in(Session *s, PyObject *o)
{
    enum { PARTS = 4 };
    static const char *const names[PARTS] = { "row", "col", "data", "shape" };
    RicciValue *part[PARTS], *v = NULL;
    bool made[PARTS] = { false };
    PyObject *coo = PyObject_CallMethod(o, "tocoo", NULL);
    int n = 0;
    for (; coo && n < PARTS; n++) {
        PyObject *x = PyObject_GetAttrString(coo, names[n]);
        part[n] = x ? value_in(s, x, &made[n]) : NULL;
        Py_XDECREF(x);
        if (!part[n])
            break;
    }
    if (n == PARTS)
        v = ricci_call(s->r, "sparse", PARTS, part);
    while (n > 0)
        n--, value_done(s, part[n], made[n]);
    Py_XDECREF(coo);
    return v;
}

static RicciValue *other_in(Session *s, PyObject *o)
{
    bool tried;
    if (PyUnicode_Check(o)) {
        Py_ssize_t bytes;
        const char *text = PyUnicode_AsUTF8AndSize(o, &bytes);
        return text ? ricci_string(s->r, text, (size_t)bytes) : NULL;
    }
    if (PyTuple_Check(o))
        return tuple_in(s, o);
    if (PyList_Check(o)) {
        RicciValue *v = list_in(s, o, &tried);
        return tried ? v : tuple_in(s, o);
    }
    if (PyRange_Check(o))
        return range_in(s, o);
    if (is_a(o, "fractions", "Fraction"))
        return exact_in(s, o, ricci_get(s->r, "rational"));
    if (is_a(o, "decimal", "Decimal"))
        return decimal_in(s, o);
    if (can_exchange(o))
        return exchanged_in(s, o);
    if (PyObject_HasAttrString(o, "tocoo"))
        return sparse_in(s, o);
    if (PyCallable_Check(o))
        return function_in(s, o);
    PyObject *name = PyType_GetName(Py_TYPE(o));
    PyErr_Format(PyExc_TypeError, "Ricci has no value for a %S: it takes None, numbers, str, "
                 "tuples and lists, range, Fraction, Decimal, functions, sparse matrices of SciPy, "
                 "and what has __dlpack__ or the buffer protocol", name ? name : Py_None);
    Py_XDECREF(name);
    return NULL;
}

RicciValue *value_in(Session *s, PyObject *o, bool *made)
{
    *made = true;
    if (PyObject_TypeCheck(o, TensorType) || PyObject_TypeCheck(o, FunctionType) ||
        PyObject_TypeCheck(o, ValueType)) {
        *made = false;
        return handle_in(s, (Handle *)o);
    }
    RicciValue *v = o == Py_None ? ricci_none(s->r) : is_number(o) ? number_in(s, o)
                                                                   : other_in(s, o);
    if (!v && !PyErr_Occurred())
        session_raise(s);
    return v;
}

void value_done(Session *s, RicciValue *v, bool made)
{
    if (made && v && s->r)
        ricci_free(v);
}

/* ---- arguments ---- */
const char *name_text(PyObject *name)
{
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(name, &bytes);
    if (!text || strlen(text) == (size_t)bytes)
        return text;
    PyErr_SetString(PyExc_ValueError, "a name has no NUL in it");
    return NULL;
}

static bool arg_in(Session *s, Args *a, int i, PyObject *o)
{
    a->values[i] = value_in(s, o, &a->made[i]);
    return a->values[i] != NULL;
}

int args_in(Session *s, Args *a, PyObject *args, PyObject *keywords)
{
    Py_ssize_t n = args ? PyTuple_Size(args) : 0, k = keywords ? PyDict_Size(keywords) : 0;
    size_t all = (size_t)(n + k);
    char *room = calloc(all + 1, sizeof(RicciValue *) + sizeof(char *) + sizeof(bool));
    if (!room) {
        PyErr_NoMemory();
        return -1;
    }
    a->values = (RicciValue **)(void *)room;
    a->names = (const char **)(void *)(a->values + all + 1);
    a->made = (bool *)(a->names + all + 1);
    a->count = (int)n;
    a->named = (int)k;
    bool good = true;
    for (Py_ssize_t i = 0; good && i < n; i++)
        good = arg_in(s, a, (int)i, PyTuple_GetItem(args, i));
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (int i = 0; good && k && PyDict_Next(keywords, &at, &key, &value); i++) {
        a->names[i] = name_text(key);
        good = a->names[i] && arg_in(s, a, (int)n + i, value);
    }
    if (good)
        return 0;
    args_done(s, a);
    return -1;
}

void args_done(Session *s, Args *a)
{
    for (int i = 0; a->values && i < a->count + a->named; i++)
        value_done(s, a->values[i], a->made[i]);
    free(a->values);
    a->values = NULL;
}

/* ---- out ---- */
/* The class of that module, called with the value's text. */
static PyObject *exact_out(const char *module, const char *class, const char *text)
{
    PyObject *m = PyImport_ImportModule(module);
    PyObject *c = m ? PyObject_GetAttrString(m, class) : NULL;
    PyObject *o = c ? PyObject_CallFunction(c, "s", text) : NULL;
    Py_XDECREF(m);
    Py_XDECREF(c);
    return o;
}

static PyObject *complex_out(Session *s, RicciValue *v)
{
    RicciValue *name = ricci_string(s->r, "c128", 4), *cast = ricci_get(s->r, "c128"), *wide = NULL;
    wide = cast ? ricci_call_value(cast, 1, &v) : NULL;
    struct DLManagedTensorVersioned *m = wide ? ricci_to_tensor(wide) : NULL;
    PyObject *o = NULL;
    if (m) {
        const double *z = (const double *)(const void *)((char *)m->dl_tensor.data +
                                                         m->dl_tensor.byte_offset);
        o = PyComplex_FromDoubles(z[0], z[1]);
        m->deleter(m);
    } else {
        session_raise(s);
    }
    ricci_free(name);
    ricci_free(cast);
    ricci_free(wide);
    return o;
}

/* A number of hardware's dtypes, or an exact one; Py_NotImplemented: it stays a tensor. */
static PyObject *number_out(Session *s, RicciValue *v)
{
    const char *type = ricci_type(v), *dtype = ricci_dtype(v);
    int64_t i;
    double f;
    bool b;
    if (strcmp(dtype, "rational") == 0)
        return exact_out("fractions", "Fraction", ricci_text(v));
    if (strncmp(dtype, "decimal", 7) == 0)
        return exact_out("decimal", "Decimal", ricci_text(v));
    if (strncmp(dtype, "mp", 2) == 0 || strncmp(dtype, "interval", 8) == 0 ||
        strncmp(dtype, "complex", 7) == 0)
        return Py_NewRef(Py_NotImplemented);
    if (strcmp(type, "bool") == 0)
        return ricci_to_bool(v, &b) == 0 ? PyBool_FromLong(b) : Py_NewRef(Py_NotImplemented);
    if (strcmp(type, "int") == 0)
        return ricci_to_int(v, &i) == 0 ? PyLong_FromLongLong(i) : (session_raise(s), NULL);
    if (strcmp(type, "float") == 0)
        return ricci_to_double(v, &f) == 0 ? PyFloat_FromDouble(f) : (session_raise(s), NULL);
    return strcmp(type, "complex") == 0 ? complex_out(s, v) : Py_NewRef(Py_NotImplemented);
}

static PyObject *tuple_out(Session *s, RicciValue *v)
{
    int n = ricci_count(v);
    PyObject *tuple = PyTuple_New(n), *names = PyTuple_New(n);
    bool named = false, good = tuple && names;
    for (int i = 0; good && i < n; i++) {
        RicciValue *item = ricci_item(v, i);
        const char *name = ricci_field_name(v, i);
        PyObject *o = item ? value_out(s, item) : (session_raise(s), NULL);
        PyObject *text = name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
        good = o && text;
        named |= name != NULL;
        if (o)
            PyTuple_SetItem(tuple, i, o);
        if (text)
            PyTuple_SetItem(names, i, text);
    }
    if (good && named) {
        PyObject *record = PyObject_CallFunctionObjArgs(RecordClass, tuple, names, NULL);
        Py_DECREF(tuple);
        tuple = record;
    }
    if (!good)
        Py_CLEAR(tuple);
    Py_XDECREF(names);
    return tuple;
}

static PyObject *range_out(RicciValue *v)
{
    int64_t start, stop, step;
    ricci_to_range(v, &start, &stop, &step);
    return PyObject_CallFunction((PyObject *)&PyRange_Type, "LLL", (long long)start,
                                 (long long)stop, (long long)step);
}

static PyObject *string_out(Session *s, RicciValue *v)
{
    size_t bytes;
    const char *text = ricci_to_string(v, &bytes);
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace")
                : (session_raise(s), NULL);
}

/* NULL with an exception, or the object; Py_NotImplemented: a handle is made of it. */
static PyObject *plain_out(Session *s, RicciValue *v)
{
    const char *type = ricci_type(v);
    if (strcmp(type, "none") == 0)
        return Py_NewRef(Py_None);
    if (strcmp(type, "string") == 0)
        return string_out(s, v);
    if (strcmp(type, "range") == 0)
        return range_out(v);
    if (ricci_count(v) >= 0)
        return tuple_out(s, v);
    return ricci_rank(v) == 0 ? number_out(s, v) : Py_NewRef(Py_NotImplemented);
}

PyObject *value_out(Session *s, RicciValue *v)
{
    if (Py_EnterRecursiveCall(" while a value comes from Ricci")) {
        ricci_free(v);
        return NULL;
    }
    PyObject *o = plain_out(s, v);
    Py_LeaveRecursiveCall();
    if (o != Py_NotImplemented) {
        ricci_free(v);
        return o;
    }
    Py_DECREF(o);
    return ricci_rank(v) >= 0 ? handle_new(TensorType, s, v)
           : strcmp(ricci_type(v), "function") == 0 ? handle_new(FunctionType, s, v)
                                                    : handle_new(ValueType, s, v);
}

PyObject *tensor_out(Session *s, RicciValue *v)
{
    if (!v) {
        session_raise(s);
        return NULL;
    }
    int n = ricci_count(v);
    if (n < 0)
        return ricci_rank(v) >= 0 ? handle_new(TensorType, s, v) : value_out(s, v);
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *o = tensor_out(s, ricci_item(v, i));
        if (o)
            PyTuple_SetItem(tuple, i, o);
        else
            Py_CLEAR(tuple);
    }
    ricci_free(v);
    return tuple;
}
