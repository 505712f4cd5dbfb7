/* Modules: their global slots, running a chunk in one, finding and importing files and
 * the embedded standard library, members, help texts and test blocks. A module's slots
 * are reserved address space, so nodes keep pointers to them. */
#include "interp/eval/eval_assign.h"

#include "core/base/error.h"
#include "core/base/fence.h"
#include "parser/foreign/foreign.h"
#include "interp/device/place.h"
#include "interp/state/scope.h"
#include "interp/state/stdlib_files.h"
#include "interp/index/index.h"
#include "interp/eval/call.h"
#include "interp/lower/lower.h"
#include "interp/eval/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Names of a program and of an imported module. What a first chunk has more finds room
 * (module_room). */
enum { MAIN_SLOTS = 5 << 18, MODULE_SLOTS = 1 << 18 };

/* ---- making and freeing ---- */
static void *reserve(Interp *in, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        err_raise(&in->ctx, ERR_MEMORY, "there is no address space left for a module");
    return p;
}

static void module_reserve(Interp *in, Module *m, uint32_t slots)
{
    m->slot_cap = slots;
    m->slots = reserve(in, slots * sizeof *m->slots);
    m->assigned = reserve(in, slots);
    m->docs = reserve(in, slots * sizeof *m->docs);
}

static void module_unmap(const Module *m)
{
    if (m->slots)
        munmap(m->slots, m->slot_cap * sizeof *m->slots);
    if (m->assigned)
        munmap(m->assigned, m->slot_cap);
    if (m->docs)
        munmap(m->docs, m->slot_cap * sizeof *m->docs);
}

/* More slots for a module that no code points into yet; false where it may. */
static bool module_enlarge(Interp *in, Module *m)
{
    Module old = *m;
    ErrFrame frame;
    if (m->fixed || m->globals.count > INT32_MAX - MODULE_SLOTS)
        return false;
    m->slots = NULL, m->assigned = NULL, m->docs = NULL;
    if (!ERR_TRY(&in->ctx, &frame)) {
        module_unmap(m);
        m->slots = old.slots, m->assigned = old.assigned, m->docs = old.docs,
            m->slot_cap = old.slot_cap;
        globals_cut(&m->globals, m->slot_cap);
        err_rethrow(&in->ctx);
    }
    module_reserve(in, m, m->globals.count + MODULE_SLOTS);
    ERR_END(&in->ctx, &frame);
    memcpy(m->slots, old.slots, old.slot_cap * sizeof *m->slots);
    memcpy(m->assigned, old.assigned, old.slot_cap);
    memcpy(m->docs, old.docs, old.slot_cap * sizeof *m->docs);
    module_unmap(&old);
    return true;
}

void module_room(Interp *in, Module *m)
{
    if (m->globals.count <= m->slot_cap || module_enlarge(in, m))
        return;
    globals_cut(&m->globals, m->slot_cap);
    err_raise(&in->ctx, ERR_MEMORY, "a module has at most %u global names", m->slot_cap);
}

static void module_free(Interp *, Module *);

Module *module_new(Interp *in, const char *name)
{
    Module *m = mem_zalloc(&in->ctx, sizeof *m);
    ErrFrame f;
    m->refs = 1;
    globals_init(&m->globals, &in->ctx);
    if (!ERR_TRY(&in->ctx, &f)) {
        module_free(in, m);
        err_rethrow(&in->ctx);
    }
    m->name = mem_strdup(&in->ctx, name);
    module_reserve(in, m, in->main ? MODULE_SLOTS : MAIN_SLOTS);
    ERR_END(&in->ctx, &f);
    m->next = in->modules;
    in->modules = m;
    return m;
}

static void module_clear(Interp *in, Module *m)
{
    for (uint32_t i = 0; i < m->globals.count; i++)
        slot_put(in, &m->slots[i], v_undef());
}

static void module_free(Interp *in, Module *m)
{
    Ctx *c = &in->ctx;
    for (uint32_t i = 0; i < m->test_count; i++) {
        ModuleTest *t = m->tests[i];
        if (t->scope)
            mem_free(c, t->scope, sizeof *t->scope);
        mem_free(c, t, sizeof *t);
    }
    if (m->tests)
        mem_free(c, m->tests, m->test_cap * sizeof *m->tests);
    for (uint32_t i = 0; i < m->chunk_count; i++)
        chunk_release(m->chunks[i]);
    if (m->chunks)
        mem_free(c, m->chunks, m->chunk_cap * sizeof *m->chunks);
    globals_free(&m->globals);
    module_unmap(m);
    source_release(m->source);
    if (m->name)
        mem_free(c, (void *)m->name, strlen(m->name) + 1);
    mem_free(c, m, sizeof *m);
}

void modules_free(Interp *in)
{
    for (Module *m = in->modules; m; m = m->next)
        module_clear(in, m);
    while (in->modules) {
        Module *m = in->modules;
        in->modules = m->next;
        module_free(in, m);
    }
}

/* Help texts, tests and cached nodes point into a chunk: the module keeps it. */
static void module_keep_chunk(Interp *in, Module *m, Chunk *chunk)
{
    if (m->chunk_count && m->chunks[m->chunk_count - 1] == chunk)
        return;
    if (m->chunk_count == m->chunk_cap) {
        uint32_t cap = m->chunk_cap ? m->chunk_cap * 2 : 4;
        m->chunks = mem_realloc(&in->ctx, m->chunks, m->chunk_cap * sizeof *m->chunks,
                                cap * sizeof *m->chunks);
        m->chunk_cap = cap;
    }
    m->chunks[m->chunk_count++] = chunk_retain(chunk);
}

/* ---- running ---- */
/* Statements of a chunk with the module's slots as frame. A call frame without a function
 * tells error places which source runs. */
Value run_chunk(Interp *in, Module *m, Chunk *chunk)
{
    CallFrame frame = { .up = in->calls, .source = chunk->source, .module = m, .site = in->at };
    Value *fp = in->fp;
    Module *running = in->module;
    in->module = m;
    in->calls = &frame;
    in->at = NULL;
    module_keep_chunk(in, m, chunk);
    resolve_chunk(&in->ctx, &in->names, &m->globals, chunk);
    module_room(in, m);
    m->fixed = true;
    const Exec *x = lower_chunk(in, m, chunk);
    in->fp = m->slots;
    if (in->place && in->place->held && in->place->strict)
        place_check_block(in, in->place, chunk->root, m);
    Value v = exec_run(in, x);
    if (v.tag == V_FLOW) {
        v = in->flow == FLOW_RETURN ? in->result : v_none();
        in->flow = FLOW_NONE;
    }
    if (__builtin_expect(*in->ctx.interrupt, 0)) {
        v_push(in, v);                               /* nothing polled after the last statement */
        poll_interrupt_slow(in);
    }
    in->fp = fp;
    in->module = running;
    in->calls = frame.up;
    in->at = frame.site;
    return v;
}

/* Does anything in this text stay after it ran: a function, a test, a help text, a type of C? */
static bool stays(const Node *n)
{
    if (!n)
        return false;
    switch (n->kind) {
    case ND_FN: case ND_LAMBDA: case ND_TEST: case ND_COMPARE_BLOCK: case ND_EXTERN:
        return true;
    case ND_ASSIGN: case ND_DEFINE:
        if (n->text)
            return true;
    }
    if (stays(n->a) || stays(n->b) || stays(n->c))
        return true;
    for (uint32_t i = 0; i < n->count && n->list; i++)
        if (stays(n->list[i]))
            return true;
    return false;
}

void module_end_chunk(Interp *in, Module *m, Chunk *chunk)
{
    if (in->host && m->chunk_count && m->chunks[m->chunk_count - 1] == chunk &&
        !stays(chunk->root)) {
        m->chunk_count--;
        chunk_release(chunk);
    }
    chunk_release(chunk);
}

/* The chunk is released here also when an error passes. */
static Value run_parsed(Interp *in, Module *m, Chunk *chunk)
{
    ErrFrame f;
    if (ERR_TRY(&in->ctx, &f)) {
        Value v = run_chunk(in, m, chunk);
        ERR_END(&in->ctx, &f);
        module_end_chunk(in, m, chunk);
        return v;
    }
    module_end_chunk(in, m, chunk);
    err_rethrow(&in->ctx);
}

static Chunk *parse_owned(Interp *in, Source *source)
{
    ErrFrame f;
    if (ERR_TRY(&in->ctx, &f)) {
        Chunk *chunk = parse_source(&in->ctx, &in->names, source);
        ERR_END(&in->ctx, &f);
        source_release(source);
        return chunk;
    }
    source_release(source);
    err_rethrow(&in->ctx);
}

Value run_text(Interp *in, Module *m, const char *name, const char *text, size_t len)
{
    return module_run_source(in, m, source_new(&in->ctx, name, text, len));
}

Value module_run_source(Interp *in, Module *m, Source *source)
{
    return run_parsed(in, m, parse_owned(in, source));
}

/* ---- finding ---- */
/* folder/name, with .ric where `suffix`; true if there is such a file. */
static bool try_path(Interp *in, Buf *path, const char *folder, size_t len, const char *name,
                     bool suffix)
{
    buf_clear(path);
    if (len) {
        buf_put(path, folder, len);
        buf_putc(path, '/');
    }
    buf_puts(path, name);
    if (suffix)
        buf_puts(path, ".ric");
    return fence_sees(&in->ctx, buf_cstr(path));
}

static size_t folder_length(const Source *s)
{
    const char *slash = s && s->name ? strrchr(s->name, '/') : NULL;
    return slash ? (size_t)(slash - s->name) + (slash == s->name) : 0;
}

/* What a path names outside of the fence is refused, whether it is there or not. */
static bool try_fenced(Interp *in, Buf *path, const char *folder, size_t len, const char *name,
                       bool is_path)
{
    bool found = try_path(in, path, folder, len, name, !is_path);
    if (!found && is_path)
        fence_check_read(&in->ctx, buf_cstr(path));
    return found;
}

/* The importing file's folder, then RICCI_PATH, which is no program's of strangers to use. True:
 * the path is in `path`. */
static bool find_file(Interp *in, Buf *path, const char *name, bool is_path, const Source *importer)
{
    if (is_path && name[0] == '/')
        return try_fenced(in, path, NULL, 0, name, true);
    if (try_fenced(in, path, importer ? importer->name : NULL, folder_length(importer),
                   name, is_path))
        return true;
    for (const char *const *at = in->look_in; at && *at; at++)
        if (try_path(in, path, *at, strlen(*at), name, !is_path))
            return true;
    const char *at = in->ctx.fence ? NULL : getenv("RICCI_PATH");
    while (at && *at) {
        size_t n = strcspn(at, ":");
        if (n && try_path(in, path, at, n, name, !is_path))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static _Noreturn void raise_not_found(Interp *in, const char *name, bool is_path)
{
    const char *names[256];
    size_t n = 0;
    for (const struct StdlibFile *f = ricci_stdlib; f->name && n < 256; f++)
        names[n++] = f->name;
    const char *closest = is_path ? NULL : err_closest(name, names, n);
    const char *quote = is_path ? "\"" : "`";
    char set[64] = "";
    if (in->ctx.fence)
        snprintf(set, sizeof set, " (%s leaves it out)", fence_by(in->ctx.fence));
    else if (!getenv("RICCI_PATH"))
        snprintf(set, sizeof set, " (not set)");
    Error *e = err_new(&in->ctx, ERR_IO, "there is no module %s%s%s; searched: the file's folder, "
                       "RICCI_PATH%s, the standard library", quote, name, quote, set);
    size_t len = strlen(name);
    if (!is_path && foreign_library(name))
        err_help(e, "%s", foreign_library(name));
    else if (is_path && module_in_stdlib(name))
        err_help(e, "import %s", name);
    else if (is_path && (len < 5 || strcmp(name + len - 5, ".ric") != 0))
        err_help(e, "a file is named in full: import \"%s.ric\"", name);
    else if (closest)
        err_help(e, "did you mean `%s`?", closest);
    err_throw(e);
}

/* ---- importing ---- */
static Module *module_loaded(Interp *in, const char *path)
{
    for (Module *m = in->modules; m; m = m->next)
        if (m->source && strcmp(m->name, path) == 0)       /* main and extern's are no files */
            return m;
    return NULL;
}

static Value module_value(Module *m)
{
    m->refs++;
    return (Value){ .tag = V_MODULE, .module = m };
}

/* Runs a module's text once. An error while it runs leaves it unloaded. */
static void module_load(Interp *in, Module *m, Source *source)
{
    Guard g;
    guard_enter(in, &g);
    m->source = source_retain(source);
    in->scope = NULL;                     /* a module is the same wherever it is imported first */
    if (ERR_TRY(&in->ctx, &g.frame)) {
        CallFrame frame = { .up = in->calls, .source = source, .module = m, .site = in->at };
        in->calls = &frame;               /* a syntax error says who imported this */
        in->at = NULL;
        Chunk *chunk = parse_owned(in, source);
        in->calls = frame.up;
        in->at = frame.site;
        Value v = run_parsed(in, m, chunk);
        ERR_END(&in->ctx, &g.frame);
        in->scope = g.scope;
        v_release(&in->ctx, v);
        m->done = true;
        return;
    }
    guard_restore(in, &g);
    ((char *)m->name)[0] = '\0';          /* a later import tries again */
    module_clear(in, m);
    err_rethrow(&in->ctx);
}

/* A module for a source that is released if there is no memory for it. */
static Module *module_for(Interp *in, const char *path, Source *source)
{
    ErrFrame f;
    if (ERR_TRY(&in->ctx, &f)) {
        Module *m = module_new(in, path);
        ERR_END(&in->ctx, &f);
        return m;
    }
    source_release(source);
    err_rethrow(&in->ctx);
}

static Value import_from(Interp *in, const char *path, const char *text, size_t len)
{
    Module *m = module_loaded(in, path);
    if (m && !m->done)
        err_raise(&in->ctx, ERR_NAME,
                  "%s imports itself, through the modules that it imports", path);
    if (!m) {
        Source *source = text ? source_new(&in->ctx, path, text, len) : source_read(&in->ctx, path);
        m = module_for(in, path, source);
        module_load(in, m, source);
    }
    return module_value(m);
}

Value module_import_stdlib(Interp *in, const char *name)
{
    const struct StdlibFile *f = stdlib_file(name);
    char label[128];
    snprintf(label, sizeof label, "<stdlib:%s>", name);
    return import_from(in, label, f->text, f->len);
}

Value module_library(Interp *in, const char *name, Module *module, const char *text)
{
    Guard g;
    Value r;
    char label[128];
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        guard_restore(in, &g);
        err_rethrow(&in->ctx);
    }
    in->scope = NULL;
    in->place = NULL;
    struct Explain *explain = in->explain;
    in->explain = NULL;
    snprintf(label, sizeof label, "<stdlib:%s>", name);
    r = text ? run_text(in, module, label, text, strlen(text)) : module_import_stdlib(in, name);
    in->explain = explain;
    in->scope = g.scope;
    in->place = g.place;
    in->at = g.at;
    ERR_END(&in->ctx, &g.frame);
    return r;
}

Value module_import(Interp *in, const char *name, bool is_path, Source *importer)
{
    Buf *path = &in->scratch;
    if (find_file(in, path, name, is_path, importer)) {
        char real[4096];
        const char *p = realpath(buf_cstr(path), real) ? real : buf_cstr(path);
        const char *cwd = getcwd((char[4096]){ 0 }, 4096);
        size_t n = cwd ? strlen(cwd) : 0;
        if (n && strncmp(p, cwd, n) == 0 && p[n] == '/')
            p += n + 1;                    /* messages show paths as short as they are */
        char copy[4096];
        snprintf(copy, sizeof copy, "%s", p);
        return import_from(in, copy, NULL, 0);
    }
    if (is_path || !stdlib_file(name))
        raise_not_found(in, name, is_path);
    return module_import_stdlib(in, name);
}

/* a?: a path, list: names of `from`, b: the module's own variable. */
Value eval_import(Interp *in, const Exec *x)
{
    const Node *n = x->node;
    in->at = x;
    Value m = n->a ? module_import(in, n->a->text, true, x->data)
                   : module_import(in, n->name->text, false, x->data);
    v_push(in, m);
    for (uint32_t i = 0; i < x->count; i++) {
        in->at = x->list[i];
        target_assign(in, x->list[i], module_member(in, m.module, x->list[i]->node->name));
    }
    if (x->b)
        target_assign(in, x->b, v_retain(m));
    stack_drop(in, in->sp - 1);
    return v_none();
}

/* ---- help ---- */
const char *module_doc(const Module *m, const Name *name)
{
    int64_t i = globals_find(&m->globals, name);
    return i >= 0 ? m->docs[i] : NULL;
}

/* ---- tests ---- */
ModuleTest *module_add_test(Interp *in, Module *m, Chunk *chunk, const FnCode *code)
{
    if (m->test_count == m->test_cap) {
        uint32_t cap = m->test_cap ? m->test_cap * 2 : 8;
        m->tests = mem_realloc(&in->ctx, m->tests, m->test_cap * sizeof *m->tests,
                               cap * sizeof *m->tests);
        m->test_cap = cap;
    }
    ModuleTest *t = mem_zalloc(&in->ctx, sizeof *t);
    *t = (ModuleTest){ .code = code, .chunk = chunk,
                       .name = code->node->a ? code->node->a->text : "" };
    return m->tests[m->test_count++] = t;
}

/* A test that stands in a scope runs in it; this is its statement. */
Value eval_test(Interp *in, const Exec *x)
{
    ModuleTest *t = (ModuleTest *)x->data;
    if (!t->scope)
        t->scope = mem_zalloc(&in->ctx, sizeof *t->scope);
    *t->scope = *in->scope;                /* a node of scoped code: there is one */
    return v_none();
}

int module_test_count(const Module *m)
{
    return (int)m->test_count;
}

const char *module_test_name(const Module *m, int i)
{
    return m->tests[i]->name;
}

unsigned module_test_line(const Module *m, int i)
{
    const ModuleTest *t = m->tests[i];
    return source_place(t->chunk->source, t->code->node->span.from).line;
}

static void test_call(Interp *in, Module *m, const ModuleTest *t)
{
    CallFrame frame = { .up = in->calls, .source = t->chunk->source, .module = m };
    in->calls = &frame;
    in->fp = m->slots;
    in->module = m;
    Function *fn = function_new(in, t->code, t->chunk, m);
    v_push(in, (Value){ .tag = V_FUNCTION, .fn = fn });
    Scope scope;
    if (t->scope) {
        scope = *t->scope;
        scope.flags = (ArithFlags){ 0 };
        scope_enter(in, &scope);
    }
    v_release(&in->ctx, function_run(in, NULL, fn, in->sp, 0));
    if (t->scope)
        scope_leave(in, &scope);
}

/* A test is a function called on a copy of the globals: values never alias, so keeping
 * the old slots aside is the copy. */
bool module_test_run(Interp *in, Module *m, int i)
{
    volatile bool passed = false;
    uint32_t count = m->globals.count;
    Value *saved = mem_alloc(&in->ctx, (count + 1) * sizeof *saved);
    for (uint32_t k = 0; k < count; k++)
        saved[k] = v_retain(m->slots[k]);
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        test_call(in, m, m->tests[i]);
        ERR_END(&in->ctx, &g.frame);
        passed = true;
    }
    guard_restore(in, &g);
    for (uint32_t k = 0; k < count; k++)
        slot_put(in, &m->slots[k], saved[k]);
    for (uint32_t k = count; k < m->globals.count; k++)
        slot_put(in, &m->slots[k], v_undef());
    mem_free(&in->ctx, saved, (count + 1) * sizeof *saved);
    return passed;
}
