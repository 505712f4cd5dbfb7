/* load and save: their arguments, and the format by extension. What a format is stands in
 * a file of its own; opening, reading and replacing files in files_access.c. */
#include "builtins/files/files_sparse.h"

#include "core/system/ascii.h"
#include "interp/device/place.h"

#include <stdio.h>
#include <string.h>

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/files/files.def"
#undef OP

typedef enum FileFormat {
    FILE_NPY,
    FILE_NPZ,
    FILE_MTX,
    FILE_CSV,
    FILE_SAFETENSORS,
    FILE_GRAPH,
    FILE_FORMATS
} FileFormat;

/* By what follows the last point of the last part of the path. */
static FileFormat format_of(OpCall *c, const char *path)
{
    static const char *const extensions[] = { ".npy", ".npz", ".mtx", ".csv", ".safetensors",
                                              ".rgraph" };
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (int i = 0; dot && i < FILE_FORMATS; i++)
        if (ascii_casecmp(dot, extensions[i]) == 0)
            return (FileFormat)i;
    Error *e = err_new(&c->in->ctx, ERR_IO, "%s: %s", path,
                       dot ? "the extension is not that of a format that is read and written here"
                           : "a name without an extension does not say which format is meant");
    err_help(e, "use .npy, .npz, .mtx, .csv, .safetensors or .rgraph; read(\"%s\") gives a file's "
             "text", path);
    err_throw(e);
}

/* An option that only one format has is an error elsewhere, not silently nothing. */
static void only_csv(OpCall *c, int first, int last)
{
    for (int i = first; i <= last; i++)
        if (arg_given(c, i))
            arg_error(c, i, ERR_TYPE, "%s= is for .csv files", arg_name(c, i));
}

static void only_sparse(OpCall *c)
{
    if (arg_bool(c, LOAD_SPARSE, false))
        arg_error_help(c, LOAD_SPARSE, ERR_TYPE, "sparse(A) makes one of a dense matrix A",
                       "sparse= is for .mtx and .npz files");
}

Value op_run_load(OpCall *c)
{
    const char *path = file_find(c, arg_str(c, 0));
    FileFormat format = format_of(c, path);
    if (format != FILE_CSV)
        only_csv(c, LOAD_HEADER, LOAD_ROWS);
    if (format != FILE_MTX && format != FILE_NPZ)
        only_sparse(c);
    switch (format) {
    case FILE_NPY: {
        Bytes b = file_bytes(c, path);
        Tensor *there = npy_grid_load(&b);
        return there ? v_tensor_raw(tensor_retain(there)) : op_result(c, npy_read(&b));
    }
    case FILE_NPZ: return npz_load(c, path);
    case FILE_SAFETENSORS: return safetensors_load(c, path);
    case FILE_GRAPH: return graph_load(c, path);
    case FILE_MTX: return mtx_load(c, path);
    default: return csv_load(c, path);
    }
}

/* dtype= as the name of a dtype that files hold: NULL, or text that lives as long as c. */
static const char *save_dtype(OpCall *c)
{
    if (!arg_given(c, SAVE_DTYPE) || c->args[SAVE_DTYPE].tag == V_NONE)
        return NULL;
    if (c->args[SAVE_DTYPE].tag == V_STRING)
        return c->args[SAVE_DTYPE].str->text;
    return dtype_name(arg_dtype(c, SAVE_DTYPE, DT_F64));
}

/* x for a format of text, as the dtype asked for: there i16 and its like are only a check. */
Tensor *text_tensor(OpCall *c, const char *as)
{
    Tensor *t = arg_tensor(c, 1);
    if (!as)
        return t;
    Stored s;
    bool fortran = false;
    Tensor *raw = stored_raw(c, t, as, arg_text(c, 1), &s, &fortran);
    return dtype_find(as, strlen(as)) == DT_NONE ? op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64))
                                                 : raw;
}

/* Of entries only; in a tuple no format has them. */
static const Sparse *entries_of(Value v)
{
    return v.tag == V_TENSOR ? tensor_sparse(v.tensor) : NULL;
}

static _Noreturn void refuse_entries(OpCall *c, Value v, const char *field)
{
    char what[96], whose[300] = "";
    if (field)
        snprintf(whose, sizeof whose, "field %.200s of ", field);
    err_raise_help(&c->in->ctx, ERR_TYPE,
                   "save it alone as .mtx or .npz, or make it dense with dense(…)",
                   "%s%s is %s, which this format does not hold", whose, arg_text(c, 1),
                   v_describe_a(v, what, sizeof what));
}

/* Does x have entries only, and is it saved so? In a tuple, and by formats of elements, it is not:
 * that raises, so that nothing is made dense on the way. */
static bool save_entries(OpCall *c, const char *path, FileFormat format, const char *as)
{
    Value x = c->args[1];
    const Sparse *s = entries_of(x);
    for (uint32_t i = 0; x.tag == V_TUPLE && i < x.tuple->count; i++)
        if (entries_of(x.tuple->items[i])) {
            char number[16];
            const Name *name = x.tuple->named ? x.tuple->names[i] : NULL;
            snprintf(number, sizeof number, "%u", i);
            refuse_entries(c, x.tuple->items[i], name ? name->text : number);
        }
    if (s && format == FILE_NPZ)
        npz_save_sparse(c, path, s, as);
    else if (s && format == FILE_MTX && !as)
        mtx_save_sparse(c, path, s);
    else if (s && format == FILE_MTX)
        arg_error(c, SAVE_DTYPE, ERR_TYPE, "a sparse matrix goes into .mtx with its own dtype");
    else if (s)
        refuse_entries(c, x, NULL);
    return s != NULL;
}

Value op_run_save(OpCall *c)
{
    if (c->args[0].tag != V_STRING && c->args[1].tag == V_STRING)
        err_raise_help(&c->in->ctx, ERR_TYPE, "the path comes first: save(\"x.npy\", A)",
                       "save(path, x) needs a path first, this is %s", v_type_name(c->args[0]));
    Str *name = arg_str(c, 0);
    if (strlen(name->text) != name->len)
        err_raise(&c->in->ctx, ERR_IO, "the path contains a NUL byte");
    const char *path = name->text, *as = save_dtype(c);
    FileFormat format = format_of(c, path);
    if (format != FILE_CSV)
        only_csv(c, SAVE_HEADER, SAVE_DELIMITER);
    if (save_entries(c, path, format, as))
        return v_none();
    if (format != FILE_NPY || c->args[1].tag != V_TENSOR)      /* npy_save knows grids */
        value_home(c->in, c->args[1]);
    switch (format) {
    case FILE_NPY: npy_save(c, path, arg_tensor(c, 1), as); break;
    case FILE_NPZ: npz_save(c, path, c->args[1], as); break;
    case FILE_SAFETENSORS: safetensors_save(c, path, c->args[1], as); break;
    case FILE_GRAPH: graph_save(c, path, c->args[1]); break;
    case FILE_MTX: mtx_save(c, path, text_tensor(c, as)); break;
    default: csv_save(c, path, as); break;
    }
    return v_none();
}
