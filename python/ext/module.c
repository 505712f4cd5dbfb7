/* The module ricci._ricci: its types, and what ricci/__init__.py gives it. */
#include "ext.h"

/* _setup(Record, error, main_thread): the class of named tuples, what makes exceptions, and the
 * thread that gets Ctrl-C. */
static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *record, *maker, *thread;
    if (!PyArg_ParseTuple(args, "OOO", &record, &maker, &thread))
        return NULL;
    Py_XDECREF(RecordClass);
    Py_XDECREF(ErrorMaker);
    RecordClass = Py_NewRef(record);
    ErrorMaker = Py_NewRef(maker);
    return session_setup(module, thread) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    { "_setup", setup, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "ricci._ricci", NULL, -1, functions, NULL, NULL, NULL, NULL,
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

PyMODINIT_FUNC PyInit__ricci(void);
PyMODINIT_FUNC PyInit__ricci(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    SessionType = add_type(module, &session_spec, "Session");
    TensorType = add_type(module, &tensor_spec, "Tensor");
    FunctionType = add_type(module, &function_spec, "Function");
    ValueType = add_type(module, &value_spec, "Value");
    /* NumPy leaves its own operators to those of a Tensor */
    if (TensorType)
        PyObject_SetAttrString((PyObject *)TensorType, "__array_ufunc__", Py_None);
    if (!SessionType || !TensorType || !FunctionType || !ValueType || PyErr_Occurred() ||
        PyModule_AddStringConstant(module, "__version__", ricci_version()) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
