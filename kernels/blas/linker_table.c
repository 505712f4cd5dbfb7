/* The tables of linker_table.h, found by what the linker itself keeps of a library (link.h). */
#include "kernels/blas/linker_table.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT };
#else
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT };
#endif

static void read_dynamic(const struct link_map *map, LinkerTable *t)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        ElfW(Addr) value = d->d_un.d_ptr, place = value < t->base ? value + t->base : value;
        switch (d->d_tag) {
        case DT_JMPREL: t->calls = (const void *)place; break;
        case DT_PLTRELSZ: t->count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_SYMTAB: t->symbols = (const void *)place; break;
        case DT_STRTAB: t->names = (const char *)place; break;
        default: break;
        }
    }
}

/* PT_GNU_RELRO, rounded as the linker rounds it: only those pages may be protected again. */
static int find_fixed(struct dl_phdr_info *info, size_t size, void *table)
{
    LinkerTable *t = table;
    ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    (void)size;
    if (info->dlpi_addr != t->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_GNU_RELRO)
            continue;
        t->fixed_from = (t->base + p->p_vaddr) & ~(page - 1);
        t->fixed_to = (t->base + p->p_vaddr + p->p_memsz) & ~(page - 1);
    }
    return 1;
}

bool linker_table_of(void *handle, LinkerTable *t)
{
    struct link_map *map = NULL;
    *t = (LinkerTable){ 0 };
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    t->base = map->l_addr;
    read_dynamic(map, t);
    dl_iterate_phdr(find_fixed, t);
    return t->calls && t->symbols && t->names;
}

bool linker_table_next(const LinkerTable *t, size_t *i, LinkerSlot *slot)
{
    const ElfW(Rela) *calls = t->calls;
    while (*i < t->count && ELF64_R_TYPE(calls[*i].r_info) != JUMP_SLOT)
        ++*i;
    if (*i >= t->count)
        return false;
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)t->symbols + ELF64_R_SYM(calls[*i].r_info);
    *slot = (LinkerSlot){ t->names + symbol->st_name, (LinkedFn *)(t->base + calls[*i].r_offset),
                          symbol->st_shndx != SHN_UNDEF };
    ++*i;
    return true;
}

static bool protect(const LinkerTable *t, int how)
{
    return t->fixed_to <= t->fixed_from ||
           mprotect((void *)t->fixed_from, t->fixed_to - t->fixed_from, how) == 0;
}

bool linker_table_open(const LinkerTable *t)
{
    return protect(t, PROT_READ | PROT_WRITE);
}

void linker_table_close(const LinkerTable *t)
{
    protect(t, PROT_READ);
}
#else
bool linker_table_of(void *handle, LinkerTable *t)
{
    (void)handle, (void)t;
    return false;
}

bool linker_table_next(const LinkerTable *t, size_t *i, LinkerSlot *slot)
{
    (void)t, (void)i, (void)slot;
    return false;
}

bool linker_table_open(const LinkerTable *t)
{
    (void)t;
    return false;
}

void linker_table_close(const LinkerTable *t)
{
    (void)t;
}
#endif
