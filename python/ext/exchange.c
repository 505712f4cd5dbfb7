/* Tensors without a copy, both ways: DLPack of 1.x and the old capsules, the buffer protocol.
 *
 * What comes in lies in an Import, whose deleter takes the GIL before it lets go of the producer's
 * object, since libricci calls it wherever the last use ends. It is marked read-only: no assignment
 * of a program writes to a caller's array, unless Session.share says so. */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

typedef struct Import {
    DLManagedTensorVersioned managed;    /* first */
    DLManagedTensorVersioned *given;     /* one of the three */
    DLManagedTensor *old;
    Py_buffer buffer;
    bool buffered;
    int64_t dims[];
} Import;

static void import_delete(DLManagedTensorVersioned *m)
{
    Import *im = m->manager_ctx;
    if (Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (im->given && im->given->deleter)
            im->given->deleter(im->given);
        if (im->old && im->old->deleter)
            im->old->deleter(im->old);
        if (im->buffered)
            PyBuffer_Release(&im->buffer);
        PyErr_Restore(type, value, trace);
        PyGILState_Release(gil);
    }
    free(im);
}

static Import *import_new(int ndim)
{
    Import *im = calloc(1, sizeof *im + 2 * (size_t)ndim * sizeof(int64_t));
    if (!im) {
        PyErr_NoMemory();
        return NULL;
    }
    im->managed = (DLManagedTensorVersioned){
        .version = { DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION }, .manager_ctx = im,
        .deleter = import_delete, .flags = DLPACK_FLAG_BITMASK_READ_ONLY };
    return im;
}

/* ---- in: capsules ---- */
static DLManagedTensorVersioned *capsule_in(PyObject *capsule, bool share)
{
    bool old = PyCapsule_IsValid(capsule, "dltensor");
    const char *name = old ? "dltensor" : "dltensor_versioned";
    void *p = PyCapsule_GetPointer(capsule, name);
    if (!p) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no DLPack capsule, or one that was used");
        return NULL;
    }
    Import *im = import_new(0);
    if (!im)
        return NULL;
    PyCapsule_SetName(capsule, old ? "used_dltensor" : "used_dltensor_versioned");
    if (old) {
        im->old = p;
        im->managed.dl_tensor = im->old->dl_tensor;
        return &im->managed;
    }
    im->given = p;
    im->managed.version = im->given->version;
    if (im->given->version.major != DLPACK_MAJOR_VERSION)    /* nothing else can be relied on */
        return &im->managed;
    im->managed.dl_tensor = im->given->dl_tensor;
    if (share)
        im->managed.flags = im->given->flags;
    return &im->managed;
}

/* Where it says that it lies; the host's memory, unless it says otherwise. */
static long device_says(PyObject *o, int *id)
{
    PyObject *where = PyObject_CallMethod(o, "__dlpack_device__", NULL);
    long type = kDLCPU;
    *id = 0;
    if (where && PyTuple_Check(where) && PyTuple_Size(where) == 2) {
        PyObject *first = PyNumber_Long(PyTuple_GetItem(where, 0));      /* an enum, as a rule */
        PyObject *second = PyNumber_Long(PyTuple_GetItem(where, 1));
        if (first && second) {
            type = PyLong_AsLong(first);
            *id = (int)PyLong_AsLong(second);
        }
        Py_XDECREF(first);
        Py_XDECREF(second);
    }
    PyErr_Clear();
    Py_XDECREF(where);
    return type;
}

/* CUDA memory stays there where the session has the device, whose stream then waits for what
 * makes it; all else that is away comes to the host. */
static bool ask_where(Session *s, PyObject *o, PyObject *how)
{
    int id;
    long type = device_says(o, &id);
    bool home = type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
    uintptr_t stream = type == kDLCUDA && s ? ricci_cuda_stream(s->r, id) : 0;
    PyObject *value = stream ? PyLong_FromSize_t(stream)
                      : home ? NULL : Py_BuildValue("(ii)", kDLCPU, 0);
    if (value)
        PyDict_SetItemString(how, stream ? "stream" : "dl_device", value);
    Py_XDECREF(value);
    return home || value;
}

static PyObject *ask(Session *s, PyObject *o)
{
    PyObject *method = PyObject_GetAttrString(o, "__dlpack__");
    PyObject *none = PyTuple_New(0), *how = method && none ? Py_BuildValue("{s:(ii)}",
        "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION) : NULL;
    PyObject *capsule = NULL;
    if (how && ask_where(s, o, how))
        capsule = PyObject_Call(method, none, how);
    if (!capsule && how && PyErr_ExceptionMatches(PyExc_TypeError)) {   /* of before 1.0 */
        PyErr_Clear();
        PyDict_DelItemString(how, "max_version");
        if (PyDict_GetItemString(how, "dl_device"))
            PyDict_DelItemString(how, "dl_device");
        capsule = PyObject_Call(method, none, how);
    }
    Py_XDECREF(how);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

/* ---- in: buffers ---- */
/* The DLPack type of a PEP 3118 format; bits 0: there is none. */
static DLDataType type_of(const Py_buffer *b)
{
    const char *f = b->format ? b->format : "B";
    DLDataType t = { .lanes = 1, .bits = (uint8_t)(8 * b->itemsize) };
    const int one = 1;
    bool little = *(const char *)&one;
    if (*f == (little ? '<' : '>') || *f == '=' || *f == '@')
        f++;
    bool complex = *f == 'Z';
    f += complex;
    if (!*f || f[1] || b->itemsize > 16)
        return (DLDataType){ 0 };
    t.code = complex ? kDLComplex : *f == '?' ? kDLBool : strchr("efdg", *f) ? kDLFloat
             : strchr("BHILQNc", *f) ? kDLUInt : strchr("bhilqn", *f) ? kDLInt : kDLOpaqueHandle;
    return t.code == kDLOpaqueHandle ? (DLDataType){ 0 } : t;
}

static bool buffer_dims(Import *im)
{
    const Py_buffer *b = &im->buffer;
    for (int i = 0; i < b->ndim; i++) {
        im->dims[i] = b->shape[i];
        if (b->strides[i] % b->itemsize)
            return false;
        im->dims[b->ndim + i] = b->strides[i] / b->itemsize;
    }
    return true;
}

static DLManagedTensorVersioned *buffer_in(PyObject *o, bool share)
{
    Py_buffer b;
    if (PyObject_GetBuffer(o, &b, share ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0)
        return NULL;
    Import *im = import_new(b.ndim);
    DLDataType type = type_of(&b);
    if (!im || !type.bits) {
        if (im)
            PyErr_Format(PyExc_TypeError, "Ricci has no dtype for elements of format '%s'",
                         b.format ? b.format : "");
        PyBuffer_Release(&b);
        free(im);
        return NULL;
    }
    im->buffer = b;
    im->buffered = true;
    im->managed.flags = share ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    im->managed.dl_tensor = (DLTensor){
        .data = b.buf, .device = { .device_type = kDLCPU }, .ndim = b.ndim, .dtype = type,
        .shape = im->dims, .strides = im->dims + b.ndim };
    if (buffer_dims(im))
        return &im->managed;
    PyErr_SetString(PyExc_TypeError, "the strides of the buffer are no multiples of its elements: "
                    "pass a copy");
    import_delete(&im->managed);
    return NULL;
}

/* An attribute of its class, as special methods are. */
static bool has_dlpack(PyObject *o)
{
    PyObject *method = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__dlpack__");
    PyErr_Clear();
    Py_XDECREF(method);
    return method != NULL;
}

bool can_exchange(PyObject *o)
{
    return !PyType_Check(o) && (PyObject_CheckBuffer(o) || has_dlpack(o));
}

/* Its owner does not lend it: an array of texts, one that is being differentiated. */
static void raise_not_lent(PyObject *o)
{
    PyObject *type, *why, *trace, *name = PyType_GetName(Py_TYPE(o));
    PyErr_Fetch(&type, &why, &trace);
    PyErr_Format(PyExc_TypeError, "this %U cannot be passed: %S (arrays of bools, of int8 int32 "
                 "int64 uint8, of floats and of complex numbers can)", name ? name : Py_None,
                 why ? why : Py_None);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(why);
    Py_XDECREF(trace);
}

DLManagedTensorVersioned *tensor_in(Session *s, PyObject *o)
{
    bool share = !s;
    if (PyCapsule_CheckExact(o))
        return capsule_in(o, share);
    if (PyType_Check(o) || !has_dlpack(o)) {
        if (!PyType_Check(o) && PyObject_CheckBuffer(o))
            return buffer_in(o, share);
        PyErr_SetString(PyExc_TypeError, "an array is wanted: what has __dlpack__ or the buffer "
                        "protocol");
        return NULL;
    }
    PyObject *capsule = ask(s, o);
    DLManagedTensorVersioned *m = capsule ? capsule_in(capsule, share) : NULL;
    if (!capsule && PyErr_ExceptionMatches(PyExc_BufferError))
        raise_not_lent(o);
    Py_XDECREF(capsule);
    return m;
}

/* ---- out ---- */
static DLManagedTensorVersioned *export(Handle *h)
{
    if (session_enter(h->session) < 0)
        return NULL;
    DLManagedTensorVersioned *m = ricci_to_tensor(h->v);
    if (!m)
        session_raise(h->session);
    session_leave(h->session);
    return m;
}

/* Row-major, in memory of its own. */
typedef struct Copy {
    DLManagedTensorVersioned managed;    /* first */
    DLManagedTensor old;
    int64_t dims[];
} Copy;

static void copy_delete(DLManagedTensorVersioned *m) { free(m->manager_ctx); }
static void copy_delete_old(DLManagedTensor *m) { free(m->manager_ctx); }

static char *copy_axis(char *to, const DLTensor *t, const char *from, int axis, size_t bytes)
{
    if (axis == t->ndim) {
        memcpy(to, from, bytes);
        return to + bytes;
    }
    for (int64_t i = 0; i < t->shape[axis]; i++)
        to = copy_axis(to, t, from + i * t->strides[axis] * (int64_t)bytes, axis + 1, bytes);
    return to;
}

static bool dense(const DLTensor *t)
{
    int64_t step = 1;
    for (int i = t->ndim - 1; i >= 0; step *= t->shape[i--])
        if (t->shape[i] != 1 && t->strides[i] != step)
            return false;
    return true;
}

static Copy *copy_of(const DLTensor *t)
{
    size_t bytes = t->dtype.bits / 8, size = 1, head = sizeof(Copy) + 2 * (size_t)t->ndim * 8;
    for (int i = 0; i < t->ndim; i++)
        size *= (size_t)t->shape[i];
    head = (head + 63) / 64 * 64;
    size_t all = head + (size * bytes + 63) / 64 * 64;
    Copy *c = aligned_alloc(64, all);
    if (!c)
        return (Copy *)PyErr_NoMemory();
    memset(c, 0, head);
    char *data = (char *)c + head, *from = (char *)t->data + t->byte_offset;
    Py_BEGIN_ALLOW_THREADS
    if (size && dense(t))
        memcpy(data, from, size * bytes);
    else if (size)
        copy_axis(data, t, from, 0, bytes);
    Py_END_ALLOW_THREADS
    int64_t step = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        c->dims[i] = t->shape[i];
        c->dims[t->ndim + i] = step;
        step *= t->shape[i] ? t->shape[i] : 1;
    }
    c->managed = (DLManagedTensorVersioned){
        .version = { DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION }, .manager_ctx = c,
        .deleter = copy_delete, .flags = DLPACK_FLAG_BITMASK_IS_COPIED, .dl_tensor = *t };
    c->managed.dl_tensor.data = data;
    c->managed.dl_tensor.byte_offset = 0;
    c->managed.dl_tensor.shape = c->dims;
    c->managed.dl_tensor.strides = c->dims + t->ndim;
    c->old = (DLManagedTensor){ c->managed.dl_tensor, c, copy_delete_old };
    return c;
}

static void capsule_end(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    }
}

static int major_of(PyObject *version)
{
    if (version == Py_None)
        return 0;
    PyObject *major = PySequence_GetItem(version, 0);
    int n = major ? (int)PyLong_AsLong(major) : -1;
    Py_XDECREF(major);
    return PyErr_Occurred() ? -1 : n;
}

/* As DLPack numbers devices; simulated and OpenCL ones have no memory to give. */
static int device_of(Handle *h, int *id)
{
    const char *name = ricci_device(h->v);
    *id = 0;
    if (strncmp(name, "cuda:", 5) == 0) {
        *id = atoi(name + 5);
        return kDLCUDA;
    }
    return strcmp(name, "cpu") == 0 ? kDLCPU : kDLExtDev;
}

PyObject *tensor_dlpack_device(Handle *h, PyObject *none)
{
    (void)none;
    int id, type;
    if (session_enter(h->session) < 0)
        return NULL;
    type = device_of(h, &id);
    session_leave(h->session);
    return Py_BuildValue("(ii)", type, id);
}

/* Which memory the consumer gets: kDLCPU, kDLCUDA, or 0 with an exception. */
static int goes_to(Handle *h, PyObject *wanted)
{
    int id, here = device_of(h, &id);
    long type = here, number = id;
    if (wanted != Py_None) {
        PyObject *first = PySequence_GetItem(wanted, 0), *second = PySequence_GetItem(wanted, 1);
        PyObject *n = first ? PyNumber_Long(first) : NULL;
        type = n ? PyLong_AsLong(n) : -1;
        number = second ? PyLong_AsLong(second) : -1;
        Py_XDECREF(first);
        Py_XDECREF(second);
        Py_XDECREF(n);
        if (PyErr_Occurred())
            return 0;
    }
    if (type == kDLCPU || (type == kDLCUDA && here == kDLCUDA && number == id))
        return (int)type;
    PyErr_Format(PyExc_BufferError, wanted == Py_None
        ? "the tensor lies on %s: ask with dl_device=(1, 0), or take x.to(\"cpu\")"
        : "the tensor lies on %s, and goes out as memory of that or of the host: dl_device=(1, 0)",
        ricci_device(h->v));
    return 0;
}

/* CUDA's numbers: none is the legacy default stream, -1 that nobody has to wait. */
static bool stream_number(PyObject *stream, intptr_t *number)
{
    *number = stream == Py_None ? 1 : (intptr_t)PyLong_AsSsize_t(stream);
    if (!PyErr_Occurred() && *number < -1)
        PyErr_SetString(PyExc_ValueError, "stream is a number of CUDA's, -1 or None");
    else if (!PyErr_Occurred() && *number == 0)
        PyErr_SetString(PyExc_ValueError, "stream=0 does not say which default stream is meant: "
                        "1 is the legacy one, 2 the thread's");
    return !PyErr_Occurred();
}

static PyObject *give(DLManagedTensorVersioned *m, bool versioned, bool copy)
{
    if (!copy) {
        PyObject *capsule = PyCapsule_New(m, "dltensor_versioned", capsule_end);
        if (!capsule)
            m->deleter(m);
        return capsule;
    }
    Copy *c = copy_of(&m->dl_tensor);
    m->deleter(m);
    if (!c)
        return NULL;
    PyObject *capsule = versioned ? PyCapsule_New(&c->managed, "dltensor_versioned", capsule_end)
                                  : PyCapsule_New(&c->old, "dltensor", capsule_end);
    if (!capsule)
        free(c);
    return capsule;
}

static PyObject *send_home(Handle *h, bool versioned, bool own, bool no_copy)
{
    DLManagedTensorVersioned *m = export(h);
    if (m && no_copy && m->flags & DLPACK_FLAG_BITMASK_IS_COPIED) {
        m->deleter(m);
        PyErr_SetString(PyExc_BufferError, "the tensor has no memory of the host to share, and "
                        "copy=False forbids a copy");
        return NULL;
    }
    return m ? give(m, versioned, own) : NULL;
}

/* The capsule of before DLPack 1, around a tensor of now. */
typedef struct Older {
    DLManagedTensor old;                 /* first */
    DLManagedTensorVersioned *m;
} Older;

static void older_delete(DLManagedTensor *old)
{
    Older *o = (Older *)old;
    o->m->deleter(o->m);
    free(o);
}

static PyObject *older_capsule(DLManagedTensorVersioned *m)
{
    Older *o = malloc(sizeof *o);
    if (!o) {
        m->deleter(m);
        return PyErr_NoMemory();
    }
    *o = (Older){ { m->dl_tensor, o, older_delete }, m };
    PyObject *capsule = PyCapsule_New(&o->old, "dltensor", capsule_end);
    if (!capsule)
        older_delete(&o->old);
    return capsule;
}

/* As CUDA memory, in the order of the consumer's stream. */
static PyObject *send(Handle *h, PyObject *stream, bool versioned, bool own)
{
    intptr_t number;
    if (!stream_number(stream, &number) || session_enter(h->session) < 0)
        return NULL;
    DLManagedTensorVersioned *m = ricci_to_cuda(h->v, number, own);
    if (!m)
        session_raise(h->session);
    session_leave(h->session);
    return !m ? NULL : versioned ? give(m, true, false) : older_capsule(m);
}

PyObject *tensor_dlpack(Handle *h, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (PyTuple_Size(args)) {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ takes its arguments by name");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy))
        return NULL;
    int major = major_of(version), wants = copy == Py_None ? -1 : PyObject_IsTrue(copy);
    if (major < 0 || PyErr_Occurred() || session_enter(h->session) < 0)
        return NULL;
    int where = goes_to(h, device);
    session_leave(h->session);
    bool versioned = major >= DLPACK_MAJOR_VERSION;
    if (where && !versioned && wants == 0) {
        PyErr_SetString(PyExc_BufferError, "without max_version=(1, 0) nobody can be told that the "
                        "memory is read-only, so it is copied, which copy=False forbids");
        return NULL;
    }
    bool own = wants == 1 || !versioned;
    return where == kDLCUDA ? send(h, stream, versioned, own)
           : where ? send_home(h, versioned, own, wants == 0) : NULL;
}

/* ---- out: buffers ---- */
typedef struct View {
    DLManagedTensorVersioned *m;
    Py_ssize_t dims[];
} View;

static const char *format_of(DLDataType t)
{
    switch (t.code) {
    case kDLBool: return "?";
    case kDLInt: return t.bits == 8 ? "b" : t.bits == 32 ? "i" : sizeof(long) == 8 ? "l" : "q";
    case kDLUInt: return "B";
    case kDLFloat: return t.bits == 16 ? "e" : t.bits == 32 ? "f" : "d";
    case kDLComplex: return t.bits == 64 ? "Zf" : "Zd";
    default: return NULL;
    }
}

static bool asks(int flags, int what) { return (flags & what) == what; }

/* What the consumer asked for, of memory that has these strides. */
static bool view_fits(const DLTensor *t, const Py_buffer *b, int flags)
{
    if (flags & PyBUF_WRITABLE)
        PyErr_SetString(PyExc_BufferError, "a Tensor does not change: np.array(x) is a copy");
    else if (asks(flags, PyBUF_F_CONTIGUOUS) && !PyBuffer_IsContiguous(b, 'F'))
        PyErr_SetString(PyExc_BufferError, "the tensor is not laid out by columns");
    else if ((asks(flags, PyBUF_C_CONTIGUOUS) || !asks(flags, PyBUF_STRIDES)) && !dense(t))
        PyErr_SetString(PyExc_BufferError, "the tensor is not laid out row-major");
    return !PyErr_Occurred();
}

static void view_fill(Py_buffer *b, View *v, int flags)
{
    const DLTensor *t = &v->m->dl_tensor;
    b->buf = (char *)t->data + t->byte_offset;
    b->itemsize = t->dtype.bits / 8;
    b->readonly = 1;
    b->ndim = t->ndim;
    b->format = flags & PyBUF_FORMAT ? (char *)format_of(t->dtype) : NULL;
    b->shape = v->dims;
    b->strides = v->dims + t->ndim;
    b->len = b->itemsize;
    for (int i = 0; i < t->ndim; i++) {
        b->shape[i] = (Py_ssize_t)t->shape[i];
        b->strides[i] = (Py_ssize_t)t->strides[i] * b->itemsize;
        b->len *= b->shape[i];
    }
    b->internal = v;
}

int tensor_buffer(PyObject *self, Py_buffer *b, int flags)
{
    b->obj = NULL;
    DLManagedTensorVersioned *m = export((Handle *)self);
    if (!m || !format_of(m->dl_tensor.dtype)) {
        PyErr_Clear();
        if (m)
            m->deleter(m);
        PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for elements of this "
                     "dtype: x.astype(\"f32\")");
        return -1;
    }
    View *v = malloc(sizeof *v + 2 * (size_t)m->dl_tensor.ndim * sizeof(Py_ssize_t));
    if (!v) {
        m->deleter(m);
        PyErr_NoMemory();
        return -1;
    }
    v->m = m;
    memset(b, 0, sizeof *b);
    view_fill(b, v, flags);
    if (!view_fits(&m->dl_tensor, b, flags)) {
        m->deleter(m);
        free(v);
        return -1;
    }
    if (!asks(flags, PyBUF_STRIDES))
        b->strides = NULL;
    if (!asks(flags, PyBUF_ND))
        b->shape = NULL;
    b->obj = Py_NewRef(self);
    return 0;
}

void tensor_buffer_release(PyObject *self, Py_buffer *b)
{
    (void)self;
    View *v = b->internal;
    v->m->deleter(v->m);
    free(v);
}

PyObject *tensor_alone(Handle *h, PyObject *none)
{
    (void)none;
    if (session_enter(h->session) < 0)
        return NULL;
    bool alone = ricci_alone(h->v);
    session_leave(h->session);
    return PyBool_FromLong(alone);
}
