/* NumPy's .npz: a zip archive whose members are .npy files, one per name. It loads as a
 * named tuple; written members are stored and aligned, so that they can be mapped. */
#include "builtins/files/files_sparse.h"
#include "builtins/stored/files_zip.h"
#include "interp/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* Members may not lie over one another: the same bytes could then be asked for many times. */
typedef struct Extent { int64_t from, to; } Extent;

static int extent_order(const void *a, const void *b)
{
    int64_t x = ((const Extent *)a)->from, y = ((const Extent *)b)->from;
    return (x > y) - (x < y);
}

void zip_check_overlap(OpCall *c, const Bytes *b, ZipReader r)
{
    Str **extents = file_text(c);
    ZipMember m;
    while (zip_next(&r, &m))
        str_append(&c->in->ctx, extents, (const char *)&(Extent){ m.data, m.data + m.packed },
                   sizeof(Extent));
    Extent *e = (Extent *)(*extents)->text;
    size_t n = (*extents)->len / sizeof *e;
    qsort(e, n, sizeof *e, extent_order);
    for (size_t i = 1; i < n; i++)
        if (e[i].from < e[i - 1].to)
            bytes_error(b, e[i].from, NULL, "two members of the archive share bytes");
}

static const Name *member_name(OpCall *c, const char *name)
{
    size_t len = strlen(name);
    if (len > 4 && strcmp(name + len - 4, ".npy") == 0)
        len -= 4;
    return names_intern(&c->in->names, name, len);
}

static void load_member(OpCall *c, const Bytes *b, const ZipMember *m, Tuple **into)
{
    Ctx *ctx = &c->in->ctx;
    const char *name = op_root(c, v_str(str_new(ctx, m->name, (size_t)m->name_len))).str->text;
    if (m->name_len > 0 && name[m->name_len - 1] == '/')
        return;
    if (m->name_len < 4 || strcmp(name + m->name_len - 4, ".npy") != 0) {
        notice(c->in, "%s: member %s is no .npy file and was left out", b->path, name);
        return;
    }
    const Name *field = member_name(c, name);
    if (tuple_find(*into, field) >= 0)
        bytes_error(b, -1, NULL, "two members are called %s", name);
    Bytes contents = zip_contents(b, m, name);
    tuple_push(ctx, into, field, v_tensor(ctx, tensor_retain(npy_read(&contents))));
}

Value npz_load(OpCall *c, const char *path)
{
    Interp *in = c->in;
    Bytes b = file_bytes(c, path);
    ZipReader r = zip_open(&b);
    zip_check_overlap(c, &b, r);
    Tensor *sparse = npz_load_sparse(&b, r);
    if (sparse)
        return op_result(c, sparse);
    if (arg_bool(c, LOAD_SPARSE, false))
        file_error_help(c, path, "sparse(A) makes one of a dense matrix A",
                        "the archive holds no sparse matrix as SciPy writes it");
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    ZipMember m;
    while (zip_next(&r, &m)) {
        Value *mark = in->sp;
        load_member(c, &b, &m, &slot->tuple);
        stack_cut(in, mark);
    }
    return v_retain(*slot);
}

/* ---- writing ---- */

typedef struct Member { size_t head, head_bytes, data_bytes; } Member;

void zip_begin(OpCall *c, ZipWriter *w)
{
    Interp *in = c->in;
    *w = (ZipWriter){ .call = c };
    w->heads = file_text(c);
    w->directory = file_text(c);
    w->spans = file_text(c);
    w->held = &in->sp->tuple;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
}

void zip_add(ZipWriter *w, const char *name, const Str *text, Tensor *data, size_t bytes)
{
    OpCall *c = w->call;
    Interp *in = c->in;
    FilePart parts[] = { { text->text, text->len }, { data ? data->data : "", bytes } };
    ZipEntry e = { .name = name, .name_len = strlen(name), .crc = zip_crc(c, parts, 2),
                   .size = (int64_t)(text->len + bytes), .at = w->at };
    Member m = { .head = (*w->heads)->len, .data_bytes = bytes };
    zip_put_head(c, w->heads, &e);
    str_append(&in->ctx, w->heads, text->text, text->len);
    m.head_bytes = (*w->heads)->len - m.head;
    zip_put_entry(c, w->directory, &e);
    str_append(&in->ctx, w->spans, (const char *)&m, sizeof m);
    tuple_push(&in->ctx, w->held, NULL, data ? v_tensor_raw(tensor_retain(data)) : v_none());
    w->at += (int64_t)(m.head_bytes + bytes);
    w->count++;
}

/* Each member's head and data, then the directory. */
void zip_write(ZipWriter *w, const char *path)
{
    OpCall *c = w->call;
    zip_put_end(c, w->directory, w->count, w->at, (int64_t)(*w->directory)->len);
    Str **list = file_text(c);
    const Member *m = (const Member *)(*w->spans)->text;
    for (int64_t i = 0; i < w->count; i++) {
        Value held = (*w->held)->items[i];
        FilePart two[] = { { (*w->heads)->text + m[i].head, m[i].head_bytes },
                           { held.tag == V_TENSOR ? held.tensor->data : "", m[i].data_bytes } };
        str_append(&c->in->ctx, list, (const char *)two, sizeof two);
    }
    FilePart end = { (*w->directory)->text, (*w->directory)->len };
    str_append(&c->in->ctx, list, (const char *)&end, sizeof end);
    file_replace(c, path, (const FilePart *)(*list)->text, (*list)->len / sizeof end);
}

static void add_member(ZipWriter *w, const char *as, const char *name, size_t name_len, Value x,
                       int operand)
{
    OpCall *c = w->call;
    Interp *in = c->in;
    char what[300], file[280];
    snprintf(what, sizeof what, "field %.200s", name);
    if (name_len > 250)
        err_raise(&in->ctx, ERR_IO, "%s: the name is too long for a member of an archive", what);
    if (!v_is_numeric(x) && x.tag != V_RANGE)
        err_raise_help(&in->ctx, ERR_TYPE, "save numbers and tensors; write() saves text",
                       "%s is of type %s, and .npz files hold tensors", what, v_type_name(x));
    Value *mark = in->sp;
    Tensor *t = op_keep(c, v_to_tensor(in, x, operand));
    Stored s;
    bool fortran = true;
    Tensor *raw = stored_raw(c, t, as, what, &s, &fortran);
    Str **head = file_text(c);
    npy_head(c, head, s, fortran, t->rank, tensor_shape(t), what);
    snprintf(file, sizeof file, "%s.npy", name);
    zip_add(w, file, *head, raw, (size_t)t->size * s.bytes);
    stack_cut(in, mark);
}

static void add_fields(ZipWriter *w, const char *as, const Tuple *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        char plain[32];
        const Name *name = t->names ? t->names[i] : NULL;
        snprintf(plain, sizeof plain, "arr_%u", i);
        if (name && tuple_find(t, name) != (int64_t)i)
            err_raise(&w->call->in->ctx, ERR_VALUE, "two fields are called %s", name->text);
        add_member(w, as, name ? name->text : plain, name ? name->len : strlen(plain),
                   t->items[i], 1);
    }
}

void npz_save(OpCall *c, const char *path, Value x, const char *as)
{
    ZipWriter w;
    zip_begin(c, &w);
    if (x.tag == V_TUPLE)
        add_fields(&w, as, x.tuple);
    else
        add_member(&w, as, "arr_0", 5, x, 1);
    zip_write(&w, path);
}
