/* Sessions: whose turn it is, programs without the GIL, Ctrl-C, errors as exceptions, output. */
#include "ext.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *SessionType;
PyObject *RecordClass, *ErrorMaker;

/* ---- processes ---- */
static atomic_uint forks;
static unsigned long main_thread;

static void forked(void)
{
    atomic_fetch_add(&forks, 1);
    main_thread = PyThread_get_thread_ident();
}

int session_setup(PyObject *module, PyObject *thread)
{
    static bool once;
    (void)module;
    main_thread = PyLong_AsUnsignedLong(thread);
    if (!once)
        pthread_atfork(NULL, NULL, forked);
    once = true;
    return PyErr_Occurred() ? -1 : 0;
}

/* In a child of fork the thread that had the session may not be there any more. */
static void after_fork(Session *s)
{
    unsigned now = atomic_load(&forks);
    if (s->forks == now)
        return;
    s->forks = now;
    s->lost = s->owner && s->owner != PyThread_get_thread_ident();
    s->lock = PyThread_allocate_lock();      /* the old one may be held for ever */
    if (s->owner && !s->lost)
        PyThread_acquire_lock(s->lock, WAIT_LOCK);
}

/* ---- whose turn it is ---- */
static void empty_trash(Session *s)
{
    while (s->trashed && s->r)
        ricci_free(s->trash[--s->trashed]);
}

int session_enter(Session *s)
{
    unsigned long me = PyThread_get_thread_ident();
    after_fork(s);
    if (s->lost || !s->r) {
        PyErr_SetString(PyExc_ValueError, s->lost
            ? "another thread used this session when the process forked: make a new one"
            : "the session is closed");
        return -1;
    }
    if (s->owner == me) {
        s->depth++;
        return 0;
    }
    while (!PyThread_acquire_lock(s->lock, NOWAIT_LOCK)) {
        int got;
        Py_BEGIN_ALLOW_THREADS
        got = PyThread_acquire_lock_timed(s->lock, 50000, 0) == PY_LOCK_ACQUIRED;
        Py_END_ALLOW_THREADS
        if (got)
            break;
        if (PyErr_CheckSignals() < 0)
            return -1;
    }
    if (!s->r) {
        PyThread_release_lock(s->lock);
        PyErr_SetString(PyExc_ValueError, "the session is closed");
        return -1;
    }
    s->owner = me;
    s->depth = 1;
    empty_trash(s);
    return 0;
}

void session_leave(Session *s)
{
    if (--s->depth)
        return;
    empty_trash(s);
    s->owner = 0;
    PyThread_release_lock(s->lock);
}

void session_drop(Session *s, RicciValue *v)
{
    if (!v || !s->r)
        return;
    if (!s->owner && PyThread_acquire_lock(s->lock, NOWAIT_LOCK)) {
        s->owner = PyThread_get_thread_ident();      /* a deleter may let other threads on */
        s->depth = 1;
        ricci_free(v);
        session_leave(s);
        return;
    }
    if (s->trashed == s->trash_cap) {
        size_t cap = s->trash_cap ? 2 * s->trash_cap : 16;
        RicciValue **more = realloc(s->trash, cap * sizeof *more);
        if (!more)
            return;                          /* it goes with the session */
        s->trash = more;
        s->trash_cap = cap;
    }
    s->trash[s->trashed++] = v;
}

/* ---- Ctrl-C ---- */
/* Python's own handler only notes the signal for the next bytecode, of which none comes while a
 * program runs. */
static Ricci *volatile running;              /* in the main thread, under our handler */
static volatile sig_atomic_t signalled;
static struct sigaction python_handler;

static void on_sigint(int sig)
{
    (void)sig;
    signalled = 1;
    ricci_interrupt(running);
}

static bool signals_begin(Ricci *r)
{
    if (PyThread_get_thread_ident() != main_thread || running)
        return false;
    struct sigaction ours = { .sa_handler = on_sigint, .sa_flags = SA_RESTART };
    running = r;
    if (sigaction(SIGINT, &ours, &python_handler) != 0) {
        running = NULL;
        return false;
    }
    if (!(python_handler.sa_flags & SA_SIGINFO) &&
        (python_handler.sa_handler == SIG_IGN || python_handler.sa_handler == SIG_DFL)) {
        sigaction(SIGINT, &python_handler, NULL);
        running = NULL;
        return false;
    }
    return true;
}

static void signals_end(void)
{
    sigaction(SIGINT, &python_handler, NULL);
    running = NULL;
}

Signals signals_pause(void)
{
    Signals was = { running && PyThread_get_thread_ident() == main_thread, running };
    if (was.ours)
        signals_end();
    return was;
}

void signals_resume(Signals was)
{
    if (was.ours)
        signals_begin(was.r);
}

/* The signal goes on to Python: its handler raises KeyboardInterrupt, or does what it does. */
static int signals_tell(Session *s)
{
    if (!signalled)
        return 0;
    signalled = 0;
    ricci_interrupt_clear(s->r);
    PyErr_SetInterrupt();
    return PyErr_CheckSignals();
}

/* ---- running ---- */
static void forget_exception(Session *s)
{
    Py_CLEAR(s->type);
    Py_CLEAR(s->value);
    Py_CLEAR(s->trace);
    free(s->text);
    s->text = NULL;
}

int session_go(Session *s, Work work, void *task)
{
    bool outer = s->depth == 1;
    if (outer && s->value)
        forget_exception(s);
    bool ours = signals_begin(s->r);
    PyThreadState *state = PyEval_SaveThread();
    int status = work(s, task);
    PyEval_RestoreThread(state);
    if (ours) {
        signals_end();
        if (signals_tell(s) < 0)
            return -1;
    }
    return status == 0 ? 0 : session_raise(s);
}

/* ---- errors ---- */
/* The exception that a function of Python raised, if the error is what was made of it. */
static bool raise_own(Session *s, const RicciError *e)
{
    if (!s->value || !e || !s->text || strcmp(s->text, e->message) != 0 ||
        (strcmp(e->kind, "throw") && strcmp(e->kind, "interrupt") && strcmp(e->kind, "io")))
        return false;
    PyObject *type = s->type, *value = s->value, *trace = s->trace;
    const char *report = ricci_error(s->r);
    PyObject *done = PyObject_CallMethod(value, "add_note", "s", report);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    s->type = s->value = s->trace = NULL;
    forget_exception(s);
    PyErr_Restore(type, value, trace);
    return true;
}

int session_raise(Session *s)
{
    const RicciError *e = ricci_error_parts(s->r);
    if (raise_own(s, e))
        return -1;
    if (!e) {
        PyErr_SetString(PyExc_RuntimeError, "ricci: a call failed and nothing is known of it");
        return -1;
    }
    PyObject *parts = Py_BuildValue("(sssssii)", e->kind, ricci_error(s->r), e->message, e->help,
                                    e->source, e->line, e->column);
    RicciValue *thrown = ricci_error_value(s->r);
    PyObject *value = thrown ? value_out(s, thrown) : Py_NewRef(Py_None);
    if (!value)
        PyErr_Clear();
    PyObject *error = parts ? PyObject_CallFunctionObjArgs(ErrorMaker, parts,
                                                           value ? value : Py_None, NULL) : NULL;
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(parts);
    Py_XDECREF(value);
    Py_XDECREF(error);
    return -1;
}

/* ---- output ---- */
static void keep_exception(Session *s, const char *text)
{
    forget_exception(s);
    PyErr_Fetch(&s->type, &s->value, &s->trace);
    PyErr_NormalizeException(&s->type, &s->value, &s->trace);
    s->text = strdup(text);
}

static int write_text(void *user, int stream, const char *text, size_t bytes)
{
    Session *s = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *done = NULL, *string = PyUnicode_DecodeUTF8(text, (Py_ssize_t)bytes, "replace");
    if (string && s->output) {
        done = PyObject_CallFunction(s->output, "iO", stream, string);
    } else if (string) {
        PyObject *file = PySys_GetObject(stream == 1 ? "stdout" : "stderr");
        done = file && file != Py_None ? PyObject_CallMethod(file, "write", "O", string)
                                       : Py_NewRef(Py_None);
    }
    int status = done ? 0 : 1;
    if (!done)
        keep_exception(s, "cannot write what was printed: Input/output error");
    Py_XDECREF(done);
    Py_XDECREF(string);
    PyGILState_Release(gil);
    return status;
}

/* ---- the type ---- */
static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "memory", "output", NULL };
    PyObject *memory = Py_None, *output = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO:Session", names, &memory, &output))
        return NULL;
    double limit = memory == Py_None ? 0 : PyFloat_AsDouble(memory);
    if (PyErr_Occurred())
        return NULL;
    if (output != Py_None && !PyCallable_Check(output)) {
        PyErr_SetString(PyExc_TypeError, "output is a function: output(stream, text)");
        return NULL;
    }
    if (!(limit >= 0 && limit < 1e18)) {
        PyErr_SetString(PyExc_ValueError, "memory is a number of bytes");
        return NULL;
    }
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Session *s = (Session *)alloc(type, 0);
    if (!s)
        return NULL;
    s->lock = PyThread_allocate_lock();
    s->forks = atomic_load(&forks);
    s->r = s->lock ? ricci_open() : NULL;
    if (!s->r) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    if (limit > 0)
        ricci_memory_limit(s->r, (size_t)limit);
    s->output = output == Py_None ? NULL : Py_NewRef(output);
    ricci_output(s->r, write_text, s);
    return (PyObject *)s;
}

/* Nobody runs in it. */
static void end(Session *s)
{
    Ricci *r = s->r;
    if (!r)
        return;
    s->trashed = 0;                          /* closing frees all values */
    if (Py_IsInitialized())
        ricci_close(r);
    s->r = NULL;
    forget_exception(s);
}

static PyObject *session_close(Session *s, PyObject *none)
{
    (void)none;
    if (!s->r || s->lost)
        Py_RETURN_NONE;
    if (session_enter(s) < 0)
        return NULL;
    if (s->depth > 1) {
        session_leave(s);
        PyErr_SetString(PyExc_ValueError, "a program of this session runs: it cannot be closed");
        return NULL;
    }
    end(s);
    session_leave(s);
    Py_RETURN_NONE;
}

static int session_traverse(Session *s, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)s));
    Py_VISIT(s->output);
    Py_VISIT(s->value);
    Py_VISIT(s->trace);
    for (Callback *c = s->callbacks; c; c = c->next)
        Py_VISIT(c->function);
    return 0;
}

static int session_clear(Session *s)
{
    if (!s->owner && !s->lost)
        end(s);
    Py_CLEAR(s->output);
    return 0;
}

static void session_dealloc(Session *s)
{
    PyTypeObject *type = Py_TYPE((PyObject *)s);
    PyObject_GC_UnTrack(s);
    if (!s->lost)
        end(s);
    Py_CLEAR(s->output);
    free(s->trash);
    if (s->lock)
        PyThread_free_lock(s->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(s);
    Py_DECREF(type);
}

/* ---- evaluating ---- */
typedef struct Text {
    const char *text, *name;
    size_t bytes;
    RicciValue *made;
} Text;

static int eval_work(Session *s, void *task)
{
    Text *t = task;
    int status = t->text ? ricci_eval_named(s->r, t->name, t->text, t->bytes)
                         : ricci_run(s->r, t->name);
    t->made = status == 0 ? ricci_take(s->r) : NULL;
    return status || !t->made;
}

/* exit() ends the evaluation; here it is the exception that Python has for it. */
static PyObject *evaluated(Session *s, Text *t)
{
    if (session_go(s, eval_work, t) == 0)
        return value_out(s, t->made);
    int code = s->r ? ricci_exit_code(s->r) : -1;
    if (code >= 0) {
        PyErr_Clear();
        PyObject *number = PyLong_FromLong(code);
        PyErr_SetObject(PyExc_SystemExit, number);
        Py_XDECREF(number);
    }
    return NULL;
}

/* Variables of this evaluation only: what they hide comes back. */
static PyObject *eval_with(Session *s, Text *t, PyObject *variables)
{
    Args a = { 0 };
    if (args_in(s, &a, NULL, variables) < 0)
        return NULL;
    RicciValue **hidden = calloc((size_t)a.named + 1, sizeof *hidden);
    PyObject *result = NULL;
    int set = 0;
    bool good = hidden != NULL;
    for (; good && set < a.named; set++) {
        hidden[set] = ricci_has(s->r, a.names[set]) ? ricci_get(s->r, a.names[set]) : NULL;
        good = ricci_set(s->r, a.names[set], a.values[set]) == 0;
    }
    result = !hidden ? PyErr_NoMemory() : good ? evaluated(s, t) : (session_raise(s), NULL);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    while (set-- > 0) {
        if (hidden[set])
            ricci_set(s->r, a.names[set], hidden[set]);
        else if (ricci_has(s->r, a.names[set]))
            ricci_unset(s->r, a.names[set]);
        ricci_free(hidden[set]);
    }
    free(hidden);
    args_done(s, &a);
    PyErr_Restore(type, value, trace);
    return result;
}

static PyObject *session_eval(Session *s, PyObject *args, PyObject *keywords)
{
    Text t = { .name = "<text>" };
    PyObject *text;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "U:eval", &text))
        return NULL;
    t.text = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (!t.text || session_enter(s) < 0)
        return NULL;
    t.bytes = (size_t)bytes;
    PyObject *result = keywords && PyDict_Size(keywords) ? eval_with(s, &t, keywords)
                                                         : evaluated(s, &t);
    session_leave(s);
    return result;
}

static PyObject *session_run(Session *s, PyObject *path)
{
    PyObject *name;
    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    PyObject *result = NULL;
    if (session_enter(s) == 0) {
        result = evaluated(s, &(Text){ .name = PyBytes_AsString(name) });
        session_leave(s);
    }
    Py_DECREF(name);
    return result;
}

/* ---- variables ---- */
static const char *key_text(PyObject *key)
{
    if (PyUnicode_Check(key))
        return name_text(key);
    PyErr_SetString(PyExc_TypeError, "a variable is named by a str");
    return NULL;
}

static PyObject *session_get(Session *s, PyObject *key)
{
    const char *name = key_text(key);
    if (!name || session_enter(s) < 0)
        return NULL;
    RicciValue *v = ricci_get(s->r, name);
    PyObject *result = v ? value_out(s, v) : (session_raise(s), NULL);
    session_leave(s);
    return result;
}

static int session_set(Session *s, PyObject *key, PyObject *value)
{
    const char *name = key_text(key);
    if (!name || session_enter(s) < 0)
        return -1;
    int status = 0;
    bool made = false;
    if (!value) {
        status = ricci_unset(s->r, name) ? session_raise(s) : 0;
    } else {
        RicciValue *v = value_in(s, value, &made);
        status = !v ? -1 : ricci_set(s->r, name, v) ? session_raise(s) : 0;
        value_done(s, v, made);
    }
    session_leave(s);
    return status;
}

static int session_contains(Session *s, PyObject *key)
{
    const char *name = key_text(key);
    if (!name || session_enter(s) < 0)
        return -1;
    int has = ricci_has(s->r, name);
    session_leave(s);
    return has;
}

static PyObject *session_names(Session *s, PyObject *none)
{
    (void)none;
    PyObject *list = PyList_New(0);
    if (!list || session_enter(s) < 0) {
        Py_XDECREF(list);
        return NULL;
    }
    const char *name;
    for (int i = 0; list && (name = ricci_name(s->r, i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    session_leave(s);
    return list;
}

static PyObject *session_share(Session *s, PyObject *args)
{
    const char *name;
    PyObject *array;
    if (!PyArg_ParseTuple(args, "sO:share", &name, &array))
        return NULL;
    struct DLManagedTensorVersioned *m = tensor_in(NULL, array);
    if (!m)
        return NULL;
    if (session_enter(s) < 0) {
        m->deleter(m);
        return NULL;
    }
    int status = ricci_share(s->r, name, m) ? session_raise(s) : 0;
    session_leave(s);
    return status == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *session_interrupt(Session *s, PyObject *none)
{
    (void)none;
    if (s->r)
        ricci_interrupt(s->r);
    Py_RETURN_NONE;
}

/* ---- blocks ---- */
static int begin_work(Session *s, void *header) { return ricci_begin(s->r, header); }
static int end_work(Session *s, void *none) { (void)none; return ricci_end(s->r); }

static PyObject *session_begin(Session *s, PyObject *header)
{
    const char *text = PyUnicode_AsUTF8AndSize(header, NULL);
    if (!text || session_enter(s) < 0)
        return NULL;
    int status = session_go(s, begin_work, (void *)text);
    session_leave(s);
    return status == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *session_end(Session *s, PyObject *none)
{
    (void)none;
    if (!s->r)
        Py_RETURN_NONE;
    if (session_enter(s) < 0)
        return NULL;
    int status = session_go(s, end_work, NULL);
    session_leave(s);
    return status == 0 ? Py_NewRef(Py_None) : NULL;
}

/* ---- cells of a notebook ---- */
typedef struct Cell {
    Text text;
    PyObject *display;               /* display(forms, width, height, result) */
    Session *s;
    bool shown;
} Cell;

static void put_form(PyObject *forms, const char *type, const char *text)
{
    PyObject *o = text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : NULL;
    if (o)
        PyDict_SetItemString(forms, type, o);
    Py_XDECREF(o);
}

static int show_forms(void *user, const RicciForms *f)
{
    Cell *c = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *forms = PyDict_New(), *done = NULL;
    PyObject *png = f->png ? PyBytes_FromStringAndSize(f->png, (Py_ssize_t)f->png_bytes) : NULL;
    if (forms) {
        put_form(forms, "text/plain", f->text);
        put_form(forms, "text/latex", f->latex);
        put_form(forms, "image/svg+xml", f->svg);
        put_form(forms, "text/html", f->html);
        if (png)
            PyDict_SetItemString(forms, "image/png", png);
        done = PyObject_CallFunction(c->display, "Oiii", forms, f->width, f->height,
                                     (int)f->result);
    }
    int status = done ? 0 : 1;
    if (!done)
        keep_exception(c->s, "cannot write what was printed: Input/output error");
    Py_XDECREF(forms);
    Py_XDECREF(png);
    Py_XDECREF(done);
    PyGILState_Release(gil);
    return status;
}

static int cell_work(Session *s, void *task)
{
    Cell *c = task;
    ricci_display(s->r, show_forms, c);
    int status = ricci_eval_named(s->r, c->text.name, c->text.text, c->text.bytes);
    if (status == 0 && c->shown)
        status = ricci_show(s->r);
    ricci_display(s->r, NULL, NULL);
    return status;
}

/* _cell(text, name, display, shown) */
static PyObject *session_cell(Session *s, PyObject *args)
{
    Cell c = { .s = s };
    Py_ssize_t bytes;
    int shown;
    if (!PyArg_ParseTuple(args, "s#sOp:_cell", &c.text.text, &bytes, &c.text.name, &c.display,
                          &shown) || session_enter(s) < 0)
        return NULL;
    c.text.bytes = (size_t)bytes;
    c.shown = shown;
    int status = session_go(s, cell_work, &c);
    session_leave(s);
    return status == 0 ? Py_NewRef(Py_None) : NULL;
}

/* asarray: of numbers, nested lists and what can be exchanged. */
static PyObject *session_asarray(Session *s, PyObject *given)
{
    if (session_enter(s) < 0)
        return NULL;
    bool made = false, tried = true;
    RicciValue *v = PyList_Check(given) || PyTuple_Check(given) ? list_in(s, given, &tried)
                                                                : value_in(s, given, &made);
    PyObject *result = NULL;
    if (v && ricci_rank(v) < 0 && strcmp(ricci_type(v), "range") != 0)
        PyErr_Format(PyExc_TypeError, "asarray takes numbers, nested lists of them and arrays, "
                     "not a %s", ricci_type(v));
    else if (v)
        result = tensor_out(s, ricci_copy(v));
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "asarray takes lists whose rows have one length and hold "
                        "numbers");
    value_done(s, v, made || PyList_Check(given) || PyTuple_Check(given));
    session_leave(s);
    return result;
}

static PyMethodDef methods[] = {
    { "eval", (PyCFunction)(void (*)(void))session_eval, METH_VARARGS | METH_KEYWORDS,
      "eval(text, /, **variables)\n\nRuns a text; the value of its last statement. The variables "
      "are there for this evaluation only." },
    { "run", (PyCFunction)session_run, METH_O, "run(path)\n\nRuns a file." },
    { "names", (PyCFunction)session_names, METH_NOARGS, "The names of all variables." },
    { "close", (PyCFunction)session_close, METH_NOARGS, "Ends the session and frees its values." },
    { "interrupt", (PyCFunction)session_interrupt, METH_NOARGS,
      "Ends what runs, from any thread." },
    { "share", (PyCFunction)session_share, METH_VARARGS,
      "share(name, array)\n\nA variable in the array's memory, which both write." },
    { "_begin", (PyCFunction)session_begin, METH_O, NULL },
    { "_end", (PyCFunction)session_end, METH_NOARGS, NULL },
    { "_cell", (PyCFunction)session_cell, METH_VARARGS, NULL },
    { "_asarray", (PyCFunction)session_asarray, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, session_new },
    { Py_tp_dealloc, session_dealloc },
    { Py_tp_traverse, session_traverse },
    { Py_tp_clear, session_clear },
    { Py_tp_methods, methods },
    { Py_mp_subscript, session_get },
    { Py_mp_ass_subscript, session_set },
    { Py_sq_contains, session_contains },
    { 0, NULL },
};
PyType_Spec session_spec = {
    "ricci._ricci.Session", sizeof(Session), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
};
