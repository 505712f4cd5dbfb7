/* Libraries of `extern`: opened by soname, path or plain name, once each, and looked up in. They
 * stay open until the process ends: C functions that values hold, threads and exit handlers of a
 * library may outlive any point where it could be closed. */
#include "core/system/c_locale.h"
#include "interp/native/native.h"
#include "core/system/loader_search.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<link.h>)          /* what ELF loaders say of the files that they opened */
#include <link.h>
#define LINK_MAPS
#endif

enum { WORDS = 16 };                 /* libraries in one string */

/* One library being opened. Nothing here needs freeing, so errors may leave at any point. */
typedef struct Opening {
    Interp *in;
    const Source *importer;
    const char *asked;               /* one word of the string */
    void *handle;
    bool exists;                     /* there is such a file, so `why` is its loader's complaint */
    char file[SEARCH_PATH];          /* what was opened last */
    char why[1024];
} Opening;

/* The folder of the importing file, as many bytes as are returned: 0 where it has none. */
static size_t importer_folder(const Source *importer, const char **folder)
{
    const char *name = importer ? importer->name : "", *slash = strrchr(name, '/');
    *folder = name;
    return slash ? (size_t)(slash - name) + (slash == name) : 0;
}

/* ---- opening a file ---- */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The loader puts the file in front, as it was asked for or with its folder; messages name it. */
static const char *without_file(const char *why, const char *file)
{
    const char *base = base_name(file), *at = strstr(why, ": ");
    size_t n = strlen(base);
    bool same = at && at - why >= (ptrdiff_t)n && strncmp(at - n, base, n) == 0;
    return same && (at - n == why || at[-(ptrdiff_t)n - 1] == '/') ? at + 2 : why;
}

static bool open_file(Opening *o, const char *file)
{
    if (file != o->file)
        snprintf(o->file, sizeof o->file, "%s", file);
    /* one that was built with -ffast-math flushes subnormals as it loads */
    fenv_t ours;
    fegetenv(&ours);
    o->handle = dlopen(o->file, RTLD_NOW | RTLD_LOCAL);
    fesetenv(&ours);
    if (!o->handle) {
        const char *why = c_dlerror();
        snprintf(o->why, sizeof o->why, "%s",
                 why ? without_file(why, o->file) : "the loader does not say why");
    }
    return o->handle != NULL;
}

/* After open_file of a name without folder: was there no such file? A dependency that is missing
 * has its own name in front. */
static bool is_absent(const Opening *o)
{
    return strncmp(o->why, "cannot open shared object file", 30) == 0 ||
           strstr(o->why, "image not found") || strstr(o->why, "no such file");
}

/* A text that tells the linker where the library is, or a library of another machine. */
static bool is_other(const Opening *o)
{
    return strstr(o->why, "invalid ELF header") || strstr(o->why, "file too short") ||
           strstr(o->why, "wrong ELF class");
}

/* ---- a path ---- */
static bool try_path(Opening *o, const char *folder, size_t len)
{
    int n = snprintf(o->file, sizeof o->file, "%.*s%s%s", (int)len, folder, len ? "/" : "",
                     o->asked);
    if (n >= (int)sizeof o->file || access(o->file, F_OK) != 0)
        return false;
    o->exists = true;
    open_file(o, o->file);
    return true;
}

/* From the importing file's folder, then from the working one. The loader searches for what has no
 * slash, so a path always keeps one. */
static void open_path(Opening *o)
{
    const char *folder;
    size_t len = importer_folder(o->importer, &folder);
    if (o->asked[0] == '/' || !len || !try_path(o, folder, len))
        try_path(o, "", 0);
}

static _Noreturn void raise_no_path(Opening *o)
{
    const char *folder;
    size_t len = importer_folder(o->importer, &folder);
    if (o->asked[0] != '/' && len)
        err_raise(&o->in->ctx, ERR_FFI, "there is no library \"%s\"; searched: %.*s/%s, and %s "
                  "from the working folder", o->asked, (int)len, folder, o->asked, o->asked);
    err_raise(&o->in->ctx, ERR_FFI, "there is no library \"%s\"%s", o->asked,
              o->asked[0] == '/' ? "" : " in the working folder");
}

/* ---- a name ---- */
/* libm.so.6, libm.so, libm.6.dylib: as the loader knows it. */
static bool is_soname(const char *name)
{
    const char *at = strstr(name, LIBRARY_SUFFIX);
    return at && (at[sizeof LIBRARY_SUFFIX - 1] == '\0' || at[sizeof LIBRARY_SUFFIX - 1] == '.');
}

static void open_soname(Opening *o, LibrarySearch *s, const char *file, int first)
{
    if (search_file(s, file, first)) {
        o->exists = true;
        open_file(o, s->found);
        return;
    }
    if (open_file(o, file) || !is_absent(o)) {
        o->exists = true;
        return;
    }
    search_loader_folders(s);
    if (search_file(s, file, s->count)) {              /* newer than the loader's cache */
        o->exists = true;
        open_file(o, s->found);
    }
}

/* libNAME.so as the loader finds it; where that is a linker script or missing, the highest
 * libNAME.so.N. */
static void open_plain(Opening *o, LibrarySearch *s, const char *name, int first)
{
    char file[SEARCH_PATH];
    if (first && search_library(s, name, first)) {
        o->exists = true;
        open_file(o, s->found);
        return;
    }
    snprintf(file, sizeof file, "lib%s" LIBRARY_SUFFIX, name);
    if (open_file(o, file) || (!is_absent(o) && !is_other(o))) {
        o->exists = true;
        return;
    }
    search_loader_folders(s);
    if (search_library(s, name, s->count)) {
        o->exists = true;
        open_file(o, s->found);
    }
}

static void put_folders(char *out, size_t size, const LibrarySearch *s)
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < s->count && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", s->folders[i]);
}

/* `libgsl.so.25`: its plain name if there is another version, in `name`. */
static bool other_version(LibrarySearch *s, const char *file, char name[256])
{
    const char *suffix = strstr(file, LIBRARY_SUFFIX);
    if (strncmp(file, "lib", 3) != 0 || !suffix || suffix - file - 3 >= 256)
        return false;
    snprintf(name, 256, "%.*s", (int)(suffix - file - 3), file + 3);
    return search_library(s, name, s->count);
}

static _Noreturn void raise_no_name(Opening *o, LibrarySearch *s, const char *file,
                                    const char *plain)
{
    char folders[2048], name[256];
    Error *e;
    put_folders(folders, sizeof folders, s);
    if (plain)
        e = err_new(&o->in->ctx, ERR_FFI, "there is no library \"%s\"; searched for lib%s"
                    LIBRARY_SUFFIX " and lib%s" LIBRARY_SUFFIX ".N in %s", o->asked, plain, plain,
                    folders);
    else
        e = err_new(&o->in->ctx, ERR_FFI, "there is no library \"%s\"; searched %s", o->asked,
                    folders);
    if (plain && strcmp(plain, "C") == 0)
        err_help(e, "the string names a library, not a language: extern \"libc.so.6\" { … }");
    else if (!plain && access(file, F_OK) == 0)
        err_help(e, "a file needs its folder: \"./%s\"", file);
    else if (!plain && other_version(s, file, name))
        err_help(e, "did you mean \"%s\"?", base_name(s->found));
    else
        err_help(e, "a library in another folder is given by its path, as in "
                 "extern \"/opt/lib/%s%s%s\"", plain ? "lib" : "", plain ? plain : file,
                 plain ? LIBRARY_SUFFIX : "");
    err_throw(e);
}

/* What the name stands for, opened into o; folders of -L come first. */
static void open_name(Opening *o, const LibrarySearch *given)
{
    LibrarySearch s = *given;
    const char *name = o->asked, *plain = name;
    for (int i = 0; i < s.count; i++)                  /* its texts moved with it */
        s.folders[i] = s.text + (given->folders[i] - given->text);
    int first = s.count;
    if (strncmp(name, "-l:", 3) == 0 || is_soname(name)) {
        name += name[0] == '-' ? 3 : 0;
        open_soname(o, &s, name, first);
        plain = NULL;
    } else {
        plain += strncmp(name, "-l", 2) == 0 ? 2 : strncmp(name, "lib", 3) == 0 && name[3] ? 3 : 0;
        open_plain(o, &s, plain, first);
    }
    if (!o->handle && !o->exists)
        raise_no_name(o, &s, name, plain);
}

static void open_word(Opening *o, const LibrarySearch *given)
{
    o->handle = NULL;
    o->exists = false;
    if (!strchr(o->asked, '/')) {
        open_name(o, given);
        return;
    }
    open_path(o);
    if (!o->exists)
        raise_no_path(o);
}

/* `undefined symbol: cblas_dgemm`: it needs a library that nobody opened. */
static bool wants_another(const Opening *o)
{
    return strstr(o->why, "undefined symbol") != NULL;
}

static _Noreturn void raise_unloadable(const Opening *o, const char *asked)
{
    const char *symbol = strstr(o->why, "undefined symbol: ");
    Error *e = err_new(&o->in->ctx, ERR_FFI, "%s does not load: %s", base_name(o->file), o->why);
    if (symbol) {
        symbol += 18;
        bool word = asked[0] != '-' && !is_soname(asked);
        err_help(e, "name the library that has %.*s too: extern \"%s%s %s\" { … }",
                 (int)strcspn(symbol, ", ("), symbol, word ? "-l" : "", asked,
                 strncmp(symbol, "cblas_", 6) == 0 ? "-lgslcblas" : "-lNAME");
    }
    err_throw(e);
}

/* ---- the list of open libraries ---- */
static const char *handle_path(void *handle, const char *otherwise)
{
#ifdef LINK_MAPS
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        return map->l_name;
#endif
    (void)handle;
    return otherwise;
}

static NativeLibrary *library_add(Interp *in, const char *asked, const char *path, void *handle)
{
    NativeState *state = native_state(in);
    for (NativeLibrary *l = state->libraries; handle && l; l = l->next)
        if (l->handle == handle) {
            dlclose(handle);                           /* the loader counts; once is enough */
            return l;
        }
    NativeLibrary *l = mem_zalloc(&in->ctx, sizeof *l);
    l->handle = handle;
    l->next = state->libraries;
    state->libraries = l;
    l->asked = mem_strdup(&in->ctx, asked);
    l->path = mem_strdup(&in->ctx, path);
    return l;
}

void native_libraries_free(Interp *in)
{
    Ctx *c = &in->ctx;
    NativeState *state = in->native;
    while (state->libraries) {
        NativeLibrary *l = state->libraries;
        state->libraries = l->next;
        if (l->asked)
            mem_free(c, l->asked, strlen(l->asked) + 1);
        if (l->path)
            mem_free(c, l->path, strlen(l->path) + 1);
        if (l->parts)
            mem_free(c, l->parts, l->count * sizeof *l->parts);
        mem_free(c, l, sizeof *l);
    }
}

/* ---- several in one string ---- */
typedef struct Words {
    char text[SEARCH_PATH];
    const char *word[WORDS];
    void *handle[WORDS];
    int count;
    LibrarySearch folders;           /* of -L */
} Words;

/* -Llib: from the importing file's folder, then from the working one. */
static void add_folder(Words *w, const char *folder, const Source *importer)
{
    char path[SEARCH_PATH];
    const char *around;
    size_t len = importer_folder(importer, &around);
    int n = snprintf(path, sizeof path, "%.*s/%s", (int)len, around, folder);
    if (len && folder[0] != '/' && n < (int)sizeof path)
        search_folder(&w->folders, path);
    search_folder(&w->folders, folder);
}

static bool is_plain(const char *word) { return strncmp(word, "-l", 2) == 0 && word[2]; }

/* As a linker is told: -lNAME, -l:FILE, -LFOLDER, libNAME.so.N, paths. Anything else is one path
 * that holds blanks. */
static bool split_words(Words *w, const char *text, const Source *importer)
{
    w->count = w->folders.count = 0;
    w->folders.used = 0;
    if (snprintf(w->text, sizeof w->text, "%s", text) >= (int)sizeof w->text)
        return false;
    for (char *at = w->text + strspn(w->text, " \t\n"); *at;) {
        char *word = at;
        at += strcspn(at, " \t\n");
        if (*at)
            *at++ = '\0';
        at += strspn(at, " \t\n");
        if (strncmp(word, "-L", 2) == 0)
            add_folder(w, word + 2, importer);
        else if (strcmp(word, "-pthread") == 0 || strncmp(word, "-Wl,", 4) == 0)
            continue;
        else if (w->count == WORDS || !(is_soname(word) || is_plain(word)))
            return false;
        else
            w->word[w->count++] = word;
    }
    return w->count > 0;
}

/* Opens what is not open yet, the last first, as those are what the others need. Returns how many
 * lack symbols; any other trouble is an error, and with `now` that is, too. */
static int open_words(Opening *o, Words *w, const char *asked, bool now)
{
    int missing = 0;
    for (int i = w->count - 1; i >= 0; i--) {
        if (w->handle[i])
            continue;
        o->asked = w->word[i];
        open_word(o, &w->folders);
        w->handle[i] = o->handle;
        missing += !o->handle;
        if (!o->handle && (now || !wants_another(o)))
            raise_unloadable(o, asked);
    }
    return missing;
}

/* Makes what is open visible to what is opened next. */
static void promote(const Words *w)
{
    for (int i = 0; i < w->count; i++) {
        const char *path = w->handle[i] ? handle_path(w->handle[i], NULL) : NULL;
        void *same = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) : NULL;
        if (same)
            dlclose(same);
    }
}

static NativeLibrary *open_several(Opening *o, Words *w, const char *asked)
{
    Interp *in = o->in;
    memset(w->handle, 0, sizeof w->handle);
    int missing = open_words(o, w, asked, false), before;
    do {
        before = missing;
        if (missing)
            promote(w);
        missing = missing ? open_words(o, w, asked, false) : 0;
    } while (missing && missing < before);
    if (missing)
        open_words(o, w, asked, true);
    NativeLibrary *parts[WORDS];
    for (int i = 0; i < w->count; i++)
        parts[i] = library_add(in, w->word[i], handle_path(w->handle[i], w->word[i]), w->handle[i]);
    if (w->count == 1)
        return parts[0];
    NativeLibrary *l = library_add(in, asked, asked, NULL);
    l->parts = mem_alloc(&in->ctx, (size_t)w->count * sizeof *l->parts);
    l->count = (uint32_t)w->count;
    memcpy(l->parts, parts, l->count * sizeof *l->parts);
    return l;
}

NativeLibrary *native_library_open(Interp *in, const char *name, Source *importer)
{
    Opening o = { .in = in, .importer = importer, .asked = name };
    Words w;
    if (!*name)
        return library_add(in, "", "this program", dlopen(NULL, RTLD_NOW));
    for (NativeLibrary *l = native_state(in)->libraries; l; l = l->next)
        if (l->parts && !strchr(name, '/') && strcmp(l->asked, name) == 0)
            return l;
    if (split_words(&w, name, importer))
        return open_several(&o, &w, name);
    w.folders.count = 0;
    open_word(&o, &w.folders);
    if (!o.handle)
        raise_unloadable(&o, name);
    return library_add(in, name, handle_path(o.handle, o.file), o.handle);
}

/* ---- symbols ---- */
void *native_symbol(Interp *in, NativeLibrary *library, const char *symbol)
{
    void *at = library->handle ? dlsym(library->handle, symbol) : NULL;
    for (uint32_t i = 0; !at && i < library->count; i++)
        at = native_symbol(in, library->parts[i], symbol);
    return at;
}

#if defined LINK_MAPS && defined DT_GNU_HASH
/* A GNU hash table says where its chains start; the last one ends at the last symbol. */
static size_t symbol_count(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], last = 0;
    const uint32_t *bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return first;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

typedef struct SymbolTable {
    const ElfW(Sym) *symbols;
    const char *text;
    size_t count;                    /* 0: unknown */
} SymbolTable;

static SymbolTable symbol_table(void *handle)
{
    struct link_map *map = NULL;
    SymbolTable t = { 0 };
    const uint32_t *hash = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return t;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        /* glibc has made these addresses, except where the section is read-only */
        ElfW(Addr) p = d->d_un.d_ptr;
        const void *at = (const void *)(p < map->l_addr ? p + map->l_addr : p);
        t.text = d->d_tag == DT_STRTAB ? at : t.text;
        t.symbols = d->d_tag == DT_SYMTAB ? at : t.symbols;
        hash = d->d_tag == DT_GNU_HASH ? at : hash;
    }
    t.count = t.text && t.symbols && hash ? symbol_count(hash) : 0;
    return t;
}

static const char *closest_of(Interp *in, void *handle, const char *symbol)
{
    SymbolTable t = symbol_table(handle);
    if (!t.count)
        return NULL;
    const char **names = mem_alloc(&in->ctx, t.count * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < t.count; i++)
        if (t.symbols[i].st_shndx != SHN_UNDEF && t.text[t.symbols[i].st_name])
            names[n++] = t.text + t.symbols[i].st_name;
    const char *closest = err_closest(symbol, names, n);
    mem_free(&in->ctx, names, t.count * sizeof *names);
    return closest;
}
#else
/* The loader shows no table: no name is offered. */
static const char *closest_of(Interp *in, void *handle, const char *symbol)
{
    (void)in, (void)handle, (void)symbol;
    return NULL;
}
#endif

const char *native_symbol_closest(Interp *in, NativeLibrary *library, const char *symbol)
{
    bool named = library->handle && library->asked[0];
    const char *closest = named ? closest_of(in, library->handle, symbol) : NULL;
    for (uint32_t i = 0; !closest && i < library->count; i++)
        closest = native_symbol_closest(in, library->parts[i], symbol);
    return closest;
}
