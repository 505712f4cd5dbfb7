/* Modules: globals, code, tests, imports (module.c). */
#ifndef RICCI_INTERP_MODULE_H
#define RICCI_INTERP_MODULE_H

#include "interp/state/exec.h"

/* Resolves a parsed chunk, runs its statements in module m and returns the last one's
 * value. The module keeps the chunk. */
Value run_chunk(Interp *, Module *, Chunk *);
/* Releases a chunk that ran. A program around us may evaluate short texts for ever: those that
 * leave nothing behind are kept no longer. */
void module_end_chunk(Interp *, Module *, Chunk *);
Value run_text(Interp *, Module *, const char *name, const char *text, size_t len);
Value module_run_source(Interp *, Module *, Source *);    /* takes the source */
Module *module_new(Interp *, const char *name);
void module_room(Interp *, Module *);            /* for the names of its globals; raises `memory` */
/* A module of the library written in Ricci, whatever files of its name lie around. */
Value module_import_stdlib(Interp *, const char *name);
/* Code of the house itself, made outside of the scopes and devices that its callers are in: `text`
 * run in its module, or, where text is NULL, the module of that name. */
Value module_library(Interp *, const char *name, Module *, const char *text);
Value module_import(Interp *, const char *name_or_path, bool is_path, Source *importer);
/* `test "name" { … }` blocks of a module, in order. Running one leaves the module's
 * globals as they were; false: it failed, and ctx.error is the error (err_free it). */
int module_test_count(const Module *);
const char *module_test_name(const Module *, int i);
unsigned module_test_line(const Module *, int i);
bool module_test_run(Interp *, Module *, int i);
/* `##` text above the assignment of a global, or NULL. */
const char *module_doc(const Module *, const Name *);

/* ---- of the evaluator ---- */
typedef struct ModuleTest {
    const FnCode *code;
    Chunk *chunk;
    const char *name;
    struct Scope *scope;         /* the one it stands in, once its statement has run; or NULL */
} ModuleTest;
void modules_free(Interp *);
Value eval_import(Interp *, const Exec *);
ModuleTest *module_add_test(Interp *, Module *, Chunk *, const FnCode *);
Value eval_test(Interp *, const Exec *);                      /* data: the ModuleTest */

#endif
