/* The second wall of the fence (fence.h), by the kernel: Landlock for files, connections and
 * signals, seccomp for system calls that start programs, reach other processes or change the
 * machine. It is wider than the first: libraries that are opened when first used are read where the
 * system keeps them, and C libraries call what they like. Numbers of Landlock stand here, since
 * headers are older than kernels.
 * Elsewhere than on Linux there is no second wall. */
#include "core/base/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With sanitizers there are none: the leak checker starts a process that looks into this one. */
#if defined __linux__ && (defined __x86_64__ || defined __aarch64__) && \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define WALLS 1
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#endif

#ifdef WALLS

/* ---- Landlock ---- */
enum { LL_CREATE = 444, LL_ADD = 445, LL_RESTRICT = 446, LL_PATH_BENEATH = 1, LL_VERSION = 1 };
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REMOVE_DIR (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_DIR (1ull << 7)
#define FS_MAKE_REG (1ull << 8)
#define FS_TRUNCATE (1ull << 14)
#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_WRITE (FS_READ | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | \
                  FS_MAKE_REG | FS_TRUNCATE)
#define FS_OF_FILES (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)

typedef struct Ruleset {
    uint64_t files, net, scoped;
} Ruleset;

typedef struct __attribute__((packed)) Beneath {
    uint64_t access;
    int32_t fd;
} Beneath;

/* All that this version of Landlock can refuse. */
static Ruleset handled(long version)
{
    Ruleset r = { .files = (1ull << 13) - 1 };
    /* links and renames between folders */
    r.files |= version >= 2 ? 1ull << 13 : 0;
    r.files |= version >= 3 ? FS_TRUNCATE : 0;
    /* ioctl of devices that are opened from now on */
    r.files |= version >= 5 ? 1ull << 15 : 0;
    r.net = version >= 4 ? 3 : 0;                              /* bind and connect of TCP */
    /* abstract sockets and signals of others */
    r.scoped = version >= 6 ? 3 : 0;
    return r;
}

/* What is not there needs no rule. */
static void allow_fd(int rules, const Ruleset *all, int fd, uint64_t access)
{
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0)
        return;
    Beneath rule = { access & all->files, fd };
    if (!S_ISDIR(info.st_mode))
        rule.access &= FS_OF_FILES;
    syscall(LL_ADD, rules, LL_PATH_BENEATH, &rule, 0);
}

static void allow_path(int rules, const Ruleset *all, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    allow_fd(rules, all, fd, access);
    if (fd >= 0)
        close(fd);
}

/* Libraries and their data (fonts, locales, terminals), what C libraries ask of the machine, and
 * the devices that hold nothing. */
static const struct { const char *path; uint64_t access; } system_paths[] = {
    { "/usr", FS_READ }, { "/lib", FS_READ }, { "/lib64", FS_READ }, { "/lib32", FS_READ },
    { "/opt", FS_READ },
    { "/nix/store", FS_READ }, { "/gnu/store", FS_READ }, { "/etc/ld.so.cache", FS_READ },
    { "/etc/ld.so.conf", FS_READ }, { "/etc/ld.so.conf.d", FS_READ },
    { "/etc/alternatives", FS_READ },
    { "/etc/fonts", FS_READ }, { "/var/cache/fontconfig", FS_READ }, { "/etc/terminfo", FS_READ },
    { "/etc/inputrc", FS_READ }, { "/etc/localtime", FS_READ },
    { "/sys/devices/system", FS_READ }, { "/sys/fs/cgroup", FS_READ },
    { "/proc/meminfo", FS_READ }, { "/proc/cpuinfo", FS_READ }, { "/proc/stat", FS_READ },
    { "/proc/sys/vm/overcommit_memory", FS_READ }, { "/proc/self/maps", FS_READ },
    { "/proc/self/status", FS_READ },
    { "/proc/self/cgroup", FS_READ },
    { "/dev/null", FS_READ | FS_WRITE_FILE }, { "/dev/zero", FS_READ },
    { "/dev/full", FS_READ | FS_WRITE_FILE },
    { "/dev/random", FS_READ }, { "/dev/urandom", FS_READ },
    { "/dev/tty", FS_READ | FS_WRITE_FILE },
};

/* Below the user's home: fonts, and the keys of the session. */
static const char *const home_paths[] = { ".inputrc", ".terminfo", ".fonts", ".local/share/fonts",
                                          ".cache/fontconfig", ".config/fontconfig" };

static void allow_system(int rules, const Ruleset *all)
{
    const char *home = getenv("HOME"), *keys = getenv("INPUTRC");
    char path[1024];
    for (size_t i = 0; i < sizeof system_paths / sizeof *system_paths; i++)
        allow_path(rules, all, system_paths[i].path, system_paths[i].access);
    for (size_t i = 0; home && i < sizeof home_paths / sizeof *home_paths; i++)
        if (snprintf(path, sizeof path, "%s/%s", home, home_paths[i]) < (int)sizeof path)
            allow_path(rules, all, path, FS_READ);
    if (keys)
        allow_path(rules, all, keys, FS_READ);
}

/* The folder is removed at the end: that is a right of the one that it stands in. */
static void allow_own(int rules, const Ruleset *all, const Fence *f, const char *tempdir)
{
    char above[1024];
    const char *slash = strrchr(tempdir, '/');
    int fd;
    bool write;
    for (int i = 0; fence_folder(f, i, &fd, &write); i++)
        allow_fd(rules, all, fd, write ? FS_WRITE : FS_READ);
    for (int i = 0; fence_file(f, i); i++)
        allow_path(rules, all, fence_file(f, i), FS_READ);
    if (slash && snprintf(above, sizeof above, "%.*s",
                          slash == tempdir ? 1 : (int)(slash - tempdir), tempdir) > 0)
        allow_path(rules, all, above, FS_REMOVE_DIR);
}

static bool close_files(const Fence *f, const char *tempdir, const char *const *readable, int count)
{
    long version = syscall(LL_CREATE, NULL, 0, LL_VERSION);
    if (version < 1)
        return false;
    Ruleset all = handled(version);
    size_t size = version >= 6 ? sizeof all : version >= 4 ? offsetof(Ruleset, scoped)
                                                           : sizeof all.files;
    int rules = (int)syscall(LL_CREATE, &all, size, 0);
    if (rules < 0)
        return false;
    allow_system(rules, &all);
    allow_own(rules, &all, f, tempdir);
    for (int i = 0; i < count; i++)
        allow_path(rules, &all, readable[i], FS_READ);
    bool done = syscall(LL_RESTRICT, rules, 0) == 0;
    close(rules);
    return done;
}

/* ---- seccomp ---- */
/* They fail with EPERM: programs, sockets, other processes, new names for files, the machine
 * itself. */
static const unsigned refused[] = {
    SYS_execve, SYS_execveat, SYS_socket, SYS_socketpair, SYS_bind, SYS_connect, SYS_listen,
        SYS_accept, SYS_accept4,
    SYS_sendto, SYS_sendmsg, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
        SYS_kcmp, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpriority, SYS_setns, SYS_unshare, SYS_mount,
        SYS_umount2,
    SYS_pivot_root, SYS_chroot, SYS_symlinkat, SYS_linkat, SYS_mknodat, SYS_fchownat, SYS_fchown,
        SYS_fchmodat,
    SYS_utimensat,    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_name_to_handle_at,
        SYS_open_by_handle_at,
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid,
        SYS_setfsgid,
    SYS_setgroups, SYS_capset, SYS_personality, SYS_acct, SYS_reboot, SYS_swapon, SYS_swapoff,
        SYS_sethostname,
    SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
        SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_bpf, SYS_perf_event_open,
        SYS_userfaultfd, SYS_keyctl,
    SYS_add_key, SYS_request_key, SYS_quotactl, SYS_syslog, SYS_fanotify_init, SYS_inotify_init1,
    SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open, SYS_setrlimit, SYS_seccomp,
#ifdef SYS_fork
    SYS_fork, SYS_vfork, SYS_symlink, SYS_link, SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown,
        SYS_iopl, SYS_ioperm,
    SYS_modify_ldt, SYS_inotify_init,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    424 /* pidfd_send_signal */, 425 /* io_uring_setup */, 426, 427, 428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */, 431, 432, 433 /* fspick */, 434 /* pidfd_open */, 438 /* pidfd_getfd */,
    440 /* process_madvise */, 442 /* mount_setattr */, 448 /* process_mrelease */,
    452 /* fchmodat2 */, 463 /* setxattrat */,
};
enum { REFUSED = sizeof refused / sizeof *refused, CLONE3 = 435, FILTER_MOST = 2 * REFUSED + 64 };

typedef struct Filter {
    struct sock_filter step[FILTER_MOST];
    unsigned short count;
} Filter;

static void put(Filter *f, unsigned code, unsigned yes, unsigned no, unsigned k)
{
    f->step[f->count++] = (struct sock_filter){ (unsigned short)code, (unsigned char)yes,
                                                (unsigned char)no, k };
}

static void load(Filter *f, size_t at)
{
    put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)at);
}

static void answer(Filter *f, unsigned what)
{
    put(f, BPF_RET | BPF_K, 0, 0, what);
}

/* The number is in the accumulator: if it is this one, the answer. */
static void refuse(Filter *f, unsigned number, unsigned what)
{
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
    answer(f, what);
}

/* The low or high half of an argument (both machines keep the low one first). */
static size_t half(int argument, int high)
{
    return offsetof(struct seccomp_data, args) + 8u * (unsigned)argument + 4u * (unsigned)high;
}

#define EPERM_ANSWER (SECCOMP_RET_ERRNO | EPERM)

/* Threads are cloned, processes are not; glibc's threads do without clone3 where it is not
 * there. */
static void filter_clone(Filter *f)
{
    refuse(f, CLONE3, SECCOMP_RET_ERRNO | ENOSYS);
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
    load(f, half(0, 0));
    put(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_THREAD);
    answer(f, SECCOMP_RET_ALLOW);
    answer(f, EPERM_ANSWER);
}

/* Signals reach this process alone. */
static void filter_signals(Filter *f)
{
    static const unsigned calls[] = { SYS_kill, SYS_tgkill };
    for (int i = 0; i < 2; i++) {
        put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, calls[i]);
        load(f, half(0, 0));
        put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)getpid());
        answer(f, SECCOMP_RET_ALLOW);
        answer(f, EPERM_ANSWER);
    }
}

/* Typing into the terminal (TIOCSTI, TIOCLINUX), and raising limits: asking for them (no new ones
 * in the third argument) is allowed. */
static void filter_arguments(Filter *f)
{
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SYS_ioctl);
    load(f, half(1, 0));
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0x5412);
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0x541C);
    answer(f, EPERM_ANSWER);
    answer(f, SECCOMP_RET_ALLOW);
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, SYS_prlimit64);
    load(f, half(2, 0));
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    load(f, half(2, 1));
    put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(f, SECCOMP_RET_ALLOW);
    answer(f, EPERM_ANSWER);
}

static bool close_calls(void)
{
    Filter f = { .count = 0 };
    load(&f, offsetof(struct seccomp_data, arch));
#ifdef __x86_64__
    put(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
#else
    put(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_AARCH64);
#endif
    answer(&f, SECCOMP_RET_KILL_PROCESS);
    load(&f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    /* x32: the same calls by other numbers */
    put(&f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
    answer(&f, EPERM_ANSWER);
#endif
    for (int i = 0; i < REFUSED; i++)
        refuse(&f, refused[i], EPERM_ANSWER);
    filter_clone(&f);
    filter_signals(&f);
    filter_arguments(&f);
    answer(&f, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { f.count, f.step };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#endif

int fence_close(const Fence *f, const char *tempdir, const char *const *readable, int count)
{
    int walls = 0;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
#ifdef WALLS
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 0;
    walls |= close_files(f, tempdir, readable, count) ? WALL_LANDLOCK : 0;
    walls |= close_calls() ? WALL_SECCOMP : 0;
#else
    (void)f, (void)tempdir, (void)readable, (void)count;
#endif
    return walls;
}
