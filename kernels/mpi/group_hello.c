/* The session's side of the hello: where it listens, and who may come in. */
#include "kernels/mpi/group_life.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/system/c_locale.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LISTEN_UNIX, LISTEN_TCP, CALLERS = 64, CALLER_SECONDS = 10 };

/* ---- listening ---- */
static int listen_at(int family, const void *at, socklen_t bytes)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (fd >= 0 && (bind(fd, at, bytes) || listen(fd, SOMAXCONN))) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A name of this machine's network and no file, so that nothing is left behind. */
static void listen_unix(Ctx *ctx, GroupLife *life)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    uint8_t bytes[8];
    int n = 0;
    if (hello_random(bytes, sizeof bytes))
        n = c_snprintf(at.sun_path + 1, sizeof at.sun_path - 1,
                       "ricci-%d-%02x%02x%02x%02x%02x%02x%02x%02x", (int)getpid(), bytes[0],
                       bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
    life->listens[LISTEN_UNIX] = listen_at(AF_UNIX, &at,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
    if (life->listens[LISTEN_UNIX] < 0)
        err_raise(ctx, ERR_DEVICE, "there is no socket for the ranks: %s", c_strerror(errno));
    c_snprintf(life->address, sizeof life->address, "unix:%s", at.sun_path + 1);
}

static void add_address(GroupLife *life, const struct sockaddr *at, int port)
{
    char host[NI_MAXHOST];
    size_t len = strlen(life->address), bytes = at->sa_family == AF_INET
        ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (getnameinfo(at, (socklen_t)bytes, host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0 &&
        len + strlen(host) + 16 < sizeof life->address)
        c_snprintf(life->address + len, sizeof life->address - len, ",tcp:%s:%d", host, port);
}

/* Every address of this machine, those that other hosts may know it by first; one of a link alone
 * needs a name of the link that is not theirs. */
static void add_addresses(GroupLife *life, int port, bool loop)
{
    struct ifaddrs *all, *i;
    if (getifaddrs(&all))
        return;
    for (i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_LOOPBACK) == loop)
            continue;
        int family = i->ifa_addr->sa_family;
        const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
        if (family == AF_INET ||
            (family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
            add_address(life, i->ifa_addr, port);
    }
    freeifaddrs(all);
}

static void listen_tcp(Ctx *ctx, GroupLife *life)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr_in four = { .sin_family = AF_INET };
    union { struct sockaddr any; struct sockaddr_in four; struct sockaddr_in6 six; } got;
    socklen_t bytes = sizeof got;
    int fd = listen_at(AF_INET6, &six, sizeof six);
    if (fd < 0)
        fd = listen_at(AF_INET, &four, sizeof four);
    if (fd < 0 || getsockname(fd, &got.any, &bytes))
        err_raise(ctx, ERR_DEVICE, "there is no socket for ranks on other hosts: %s",
                  c_strerror(errno));
    life->listens[LISTEN_TCP] = fd;
    int port = ntohs(got.any.sa_family == AF_INET ? got.four.sin_port : got.six.sin6_port);
    add_addresses(life, port, false);
    add_addresses(life, port, true);
}

void group_listen(Ctx *ctx, Group *g, bool far)
{
    uint8_t secret[SHA256_BYTES];
    if (!hello_random(secret, sizeof secret))
        err_raise(ctx, ERR_DEVICE, "there are no random numbers for a token");
    sha256_hex(secret, g->life->token);
    listen_unix(ctx, g->life);
    if (far)
        listen_tcp(ctx, g->life);
}

/* ---- callers ---- */
typedef struct Caller {
    int fd;                      /* -1: nobody */
    pid_t near;
    size_t got;
    double since;
    HelloChallenge asked;
    HelloRank said;
} Caller;

typedef struct Meeting {
    Ctx *ctx;
    Group *g;
    Caller callers[CALLERS];
    HelloRank *known;            /* by rank: its magic is 0 where it is still to come */
    int here;
} Meeting;

static void dismiss(Caller *c)
{
    close(c->fd);
    c->fd = -1;
}

static void welcome(Group *g, int fd, const HelloRank *said, HelloWelcome *w)
{
    w->magic = HELLO_MAGIC;
    hello_sign(w->proof, g->life->token, said->nonce, w, offsetof(HelloWelcome, proof));
    /* It is short and the first that is sent: it fits, or the caller is none. */
    if (send(fd, w, sizeof *w, MSG_NOSIGNAL) != sizeof *w)
        shutdown(fd, SHUT_RDWR);
}

/* Who called by the socket of this machine: its number as it is here (a container's own differs); 0
 * for other users, who cannot know the token, but why ask. */
static pid_t process_near(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid()
        ? peer.pid : 0;
}

static void answer_door(Meeting *m, int which)
{
    int fd = accept4(m->g->life->listens[which], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int i = 0;
    if (fd < 0)
        return;
    while (i < CALLERS && m->callers[i].fd >= 0)
        i++;
    pid_t near = which == LISTEN_UNIX ? process_near(fd) : 0;
    if (i == CALLERS || (which == LISTEN_UNIX && !near)) {
        close(fd);
        return;
    }
    Caller *c = &m->callers[i];
    *c = (Caller){ .fd = fd, .near = near, .since = group_clock(),
                   .asked = { HELLO_MAGIC, sizeof c->said } };
    if (!hello_random(c->asked.nonce, sizeof c->asked.nonce) ||
        send(fd, &c->asked, sizeof c->asked, MSG_NOSIGNAL) != sizeof c->asked)
        dismiss(c);
}

/* Raises why the whole group cannot be: who knows the token speaks the truth. */
static void check_rank(Meeting *m, Caller *c)
{
    char host[64], version[32], why[160] = "";
    HelloWelcome no = { 0 };
    HelloRank *said = &c->said;
    hello_here(host, version);
    said->host[sizeof said->host - 1] = said->version[sizeof said->version - 1] = '\0';
    if (strcmp(said->version, version))
        c_snprintf(why, sizeof why, "rank %d on %s is Ricci %s and the session is Ricci %s",
                   (int)said->rank, said->host, said->version, version);
    else if (said->rank < 0)
        c_snprintf(why, sizeof why, "the launcher %.60s does not tell ranks their numbers",
                   group_tools()->launcher);
    else if (said->rank >= m->g->ranks || m->known[said->rank].magic)
        c_snprintf(why, sizeof why, "the launcher %.60s has two ranks %d, or too many",
                   group_tools()->launcher, (int)said->rank);
    if (!why[0])
        return;
    c_snprintf(no.refused, sizeof no.refused, "%s", why);
    welcome(m->g, c->fd, said, &no);
    dismiss(c);
    err_raise(m->ctx, ERR_DEVICE, "%s could not be started: %s",
              group_name(m->g, (char[48]){ 0 }), why);
}

static void listen_to(Meeting *m, Caller *c)
{
    uint8_t proof[SHA256_BYTES];
    ssize_t n = recv(c->fd, (char *)&c->said + c->got, sizeof c->said - c->got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        dismiss(c);
        return;
    }
    c->got += (size_t)n;
    if (c->got < sizeof c->said)
        return;
    hello_sign(proof, m->g->life->token, c->asked.nonce, &c->said, offsetof(HelloRank, proof));
    if (c->said.magic != HELLO_MAGIC || !hello_same(proof, c->said.proof)) {
        dismiss(c);
        return;
    }
    check_rank(m, c);
    GroupRank *r = &m->g->rank[c->said.rank];
    m->known[c->said.rank] = c->said;
    r->fd = c->fd;
    r->pid = c->said.pid;
    r->near = c->near;
    memcpy(r->host, c->said.host, sizeof r->host);
    c->fd = -1;
    m->here++;
}

static void wait_for_callers(Meeting *m, int ms)
{
    struct pollfd p[GROUP_LISTENS + 1 + CALLERS];
    int n = 0;
    GroupLife *life = m->g->life;
    for (int i = 0; i < GROUP_LISTENS; i++)
        p[n++] = (struct pollfd){ .fd = life->listens[i], .events = POLLIN };
    p[n++] = (struct pollfd){ .fd = life->words_fd, .events = POLLIN };
    for (int i = 0; i < CALLERS; i++)
        p[n++] = (struct pollfd){ .fd = m->callers[i].fd, .events = POLLIN };
    poll(p, (nfds_t)n, ms);
    for (int i = 0; i < GROUP_LISTENS; i++)
        if (p[i].revents & POLLIN)
            answer_door(m, i);
    for (int i = 0; i < CALLERS; i++) {
        Caller *c = &m->callers[i];
        if (c->fd >= 0 && c->fd == p[GROUP_LISTENS + 1 + i].fd && p[GROUP_LISTENS + 1 + i].revents)
            listen_to(m, c);
        if (c->fd >= 0 && group_clock() > c->since + CALLER_SECONDS)
            dismiss(c);
    }
}

/* ---- the meeting ---- */
static _Noreturn void raise_failed(Meeting *m)
{
    char words[600], name[48];
    GroupLife *life = m->g->life;
    group_words(life, words, sizeof words);
    const char *launcher = group_tools()->launcher;
    group_name(m->g, name);
    if (words[0])
        err_raise(m->ctx, ERR_DEVICE, "%s could not be started: %s: %s", name, launcher, words);
    if (life->status < 0)
        err_raise(m->ctx, ERR_DEVICE, "%s could not be started: %s ended without a word", name,
                  launcher);
    err_raise(m->ctx, ERR_DEVICE, "%s could not be started: %s ended with %s %d, without a word",
              name, launcher, WIFSIGNALED(life->status) ? "signal" : "status",
              WIFSIGNALED(life->status) ? WTERMSIG(life->status) : WEXITSTATUS(life->status));
}

static void meet_all(Meeting *m)
{
    Group *g = m->g;
    GroupLife *life = g->life;
    double most = group_timeout(), until = group_clock() + most;
    while (m->here < g->ranks) {
        wait_for_callers(m, 100);
        group_hear(life);
        if (*m->ctx->interrupt)
            err_interrupted(m->ctx);
        if (m->here < g->ranks && !life->launcher)
            raise_failed(m);
        if (m->here < g->ranks && group_clock() > until)
            err_raise(m->ctx, ERR_DEVICE,
                      "%s could not be started: %d of %d ranks called within %g s "
                      "(RICCI_MPI_TIMEOUT)", group_name(g, (char[48]){ 0 }), m->here, g->ranks,
                      most);
    }
}

static const char *const fault_names[FAULTS] = { "die", "memory", "hang" };

/* RANK:OPERATION:KIND, for tests. */
static void give_fault(int rank, HelloWelcome *w)
{
    const char *text = getenv("RICCI_MPI_FAULT");
    char *end = NULL;
    if (!text || strtol(text, &end, 10) != rank || *end != ':')
        return;
    uint64_t at = strtoull(end + 1, &end, 10);
    for (int k = 0; *end == ':' && k < FAULTS; k++)
        if (strcmp(end + 1, fault_names[k]) == 0) {
            w->fault_at = at;
            w->fault_kind = k;
        }
}

/* A rank is a process on one core, as MPI's launchers have it, so a grid of more ranks has more
 * cores: more threads in each are asked for, here or of Slurm. */
static int rank_threads(void)
{
    static const char *const names[] = { "RICCI_MPI_THREADS", "SLURM_CPUS_PER_TASK" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        long n = text ? strtol(text, NULL, 10) : 0;
        if (n > 0)
            return n < 256 ? (int)n : 256;
    }
    return 1;
}

static void welcome_all(Meeting *m)
{
    Group *g = m->g;
    int on = 1;
    for (int r = 0; r < g->ranks; r++) {
        HelloWelcome w = { .p = g->p, .q = g->q, .block = g->block };
        for (int i = 0; i < g->ranks; i++)
            w.neighbours += strcmp(g->rank[i].host, g->rank[r].host) == 0;
        w.threads = rank_threads();
        give_fault(r, &w);
        setsockopt(g->rank[r].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        welcome(g, g->rank[r].fd, &m->known[r], &w);
    }
}

static void end_meeting(Meeting *m, size_t bytes)
{
    for (int i = 0; i < CALLERS; i++)
        if (m->callers[i].fd >= 0)
            dismiss(&m->callers[i]);
    for (int i = 0; i < GROUP_LISTENS; i++) {
        if (m->g->life->listens[i] >= 0)
            close(m->g->life->listens[i]);
        m->g->life->listens[i] = -1;
    }
    mem_free(m->ctx, m, sizeof *m + bytes);
}

void group_meet(Ctx *ctx, Group *g)
{
    size_t bytes = (size_t)g->ranks * sizeof(HelloRank);
    Meeting *m = mem_zalloc(ctx, sizeof *m + bytes);
    m->ctx = ctx;
    m->g = g;
    m->known = (HelloRank *)(m + 1);
    for (int i = 0; i < CALLERS; i++)
        m->callers[i].fd = -1;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        end_meeting(m, bytes);
        err_rethrow(ctx);
    }
    meet_all(m);
    welcome_all(m);
    ERR_END(ctx, &frame);
    end_meeting(m, bytes);
}
