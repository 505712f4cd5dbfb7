/* The extension module ricci._ricci: what its files share. Everything of Ricci goes through
 * interp/embed/ricci.h, everything of Python through the stable ABI of 3.11.
 *
 * Who holds what while. A session is used by one thread at a time: session_enter takes its lock
 * (with the GIL let go while it waits), session_leave gives it back. Programs run between
 * session_go's two halves, without the GIL and with our own handler of SIGINT; everything else is
 * done with the GIL. Values that are dropped while another thread's program runs wait in `trash`
 * for the next who has the session. */
#ifndef RICCI_PYTHON_EXT_H
#define RICCI_PYTHON_EXT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "interp/embed/ricci.h"

typedef struct Callback Callback;

typedef struct Session {
    PyObject_HEAD
    Ricci *r;                        /* NULL: closed */
    PyThread_type_lock lock;
    unsigned long owner;             /* the thread that has it; 0: nobody */
    int depth;                       /* of session_enter by it */
    unsigned forks;                  /* of the process, when it was last used */
    bool lost;                       /* another thread had it when the process forked */
    PyObject *output;                /* callable, or NULL */
    PyObject *type, *value, *trace;  /* the last exception of Python inside a program, or NULL */
    char *text;                      /* what the program knows it as */
    RicciValue **trash;
    size_t trashed, trash_cap;
    Callback *callbacks;             /* functions of Python that it holds */
} Session;

/* A value of a session: the types Tensor, Function and Value have it. */
typedef struct Handle {
    PyObject_HEAD
    Session *session;
    RicciValue *v;
} Handle;

/* A function of Python as a value of a program. */
struct Callback {
    Session *session;                /* borrowed: it ends all its values before it goes */
    PyObject *function;
    Callback *next, *before;
};

extern PyTypeObject *SessionType, *TensorType, *FunctionType, *ValueType;
/* Of ricci/__init__.py: the class Record, and what makes an exception of an error's parts. */
extern PyObject *RecordClass, *ErrorMaker;

/* ---- session.c ---- */
int session_enter(Session *);        /* -1: closed, lost, or interrupted while it waited */
void session_leave(Session *);
typedef int (*Work)(Session *, void *task);
/* Runs it as a program: 0, or -1 with the exception of its error, if it gave anything but 0. */
int session_go(Session *, Work, void *task);
/* The error of the last call as an exception. Always -1. */
int session_raise(Session *);
void session_drop(Session *, RicciValue *);          /* ricci_free, now or later */
/* SIGINT is Python's again while a function of Python runs inside a program. */
typedef struct Signals { bool ours; Ricci *r; } Signals;
Signals signals_pause(void);
void signals_resume(Signals);
int session_setup(PyObject *module, PyObject *main_thread);

/* ---- convert.c ---- */
/* NULL with an exception. What is new is to be dropped, which *made says. */
RicciValue *value_in(Session *, PyObject *, bool *made);
void value_done(Session *, RicciValue *, bool made);
PyObject *value_out(Session *, RicciValue *);        /* takes it, also where it fails */
/* As value_out, but numbers too become tensors, in tuples as well. */
PyObject *tensor_out(Session *, RicciValue *);
RicciValue *list_in(Session *, PyObject *, bool *tried);    /* nested numbers as a tensor */
bool is_number(PyObject *);
/* Values by position and by name. NULL items: none was converted. */
typedef struct Args {
    int count, named;
    RicciValue **values;
    bool *made;
    const char **names;
    PyObject **owners;
} Args;
const char *name_text(PyObject *name);         /* NULL with an exception: no text, a NUL */
int args_in(Session *, Args *, PyObject *args, PyObject *keywords);
void args_done(Session *, Args *);

/* ---- exchange.c ---- */
bool can_exchange(PyObject *);
/* What has __dlpack__ or the buffer protocol, as a tensor for the session to adopt, which has been
 * entered; NULL: to be shared, in memory of the host. */
struct DLManagedTensorVersioned *tensor_in(Session *, PyObject *);
PyObject *tensor_dlpack(Handle *, PyObject *args, PyObject *keywords);
PyObject *tensor_dlpack_device(Handle *, PyObject *);
PyObject *tensor_alone(Handle *, PyObject *);
int tensor_buffer(PyObject *, Py_buffer *, int flags);
void tensor_buffer_release(PyObject *, Py_buffer *);

/* ---- tensor.c ---- */
extern PyType_Spec tensor_spec;
PyObject *handle_new(PyTypeObject *, Session *, RicciValue *);   /* takes the value */
void handle_dealloc(PyObject *);
PyObject *handle_repr(PyObject *);
extern PyType_Spec function_spec, value_spec, session_spec;

#endif
