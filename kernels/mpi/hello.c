/* Signing, addresses, names: what both sides of a hello need. */
#include "kernels/mpi/hello.h"

#include "core/system/c_locale.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECT_MS = 10000 };

void hello_sign(uint8_t proof[SHA256_BYTES], const char *token, const uint8_t nonce[HELLO_NONCE],
                const void *from, size_t n)
{
    Hmac h;
    hmac_begin(&h, token, strlen(token));
    hmac_add(&h, nonce, HELLO_NONCE);
    hmac_add(&h, from, n);
    hmac_end(&h, proof);
}

/* In the same time, wherever they differ. */
bool hello_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    unsigned differ = 0;
    for (int i = 0; i < SHA256_BYTES; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

bool hello_random(uint8_t *to, size_t n)
{
    ssize_t got;
    do
        got = getrandom(to, n, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)n;
}

void hello_here(char host[64], char version[32])
{
    memset(host, 0, 64);
    if (gethostname(host, 63))
        strcpy(host, "?");
    memset(version, 0, 32);
    c_snprintf(version, 32, "%s", RICCI_VERSION);
}

static int connect_unix(const char *name)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t n = strlen(name);
    if (n + 1 > sizeof to.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(to.sun_path + 1, name, n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, bytes)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* A connection that does not come within CONNECT_MS is none: a host behind a wall that swallows
 * what it is sent would be waited for for minutes. */
static int connect_within(const struct addrinfo *to)
{
    int error = 0, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t bytes = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, to->ai_addr, to->ai_addrlen))
        error = errno;
    if (error == EINPROGRESS) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        if (poll(&p, 1, CONNECT_MS) != 1)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes))
            error = errno;
    }
    if (!error) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

static int connect_tcp(const char *address)
{
    char host[128];
    const char *port = strrchr(address, ':');
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *found;
    if (!port || port - address >= (ptrdiff_t)sizeof host) {
        errno = EINVAL;
        return -1;
    }
    memcpy(host, address, (size_t)(port - address));
    host[port - address] = '\0';
    if (getaddrinfo(host, port + 1, &want, &found)) {
        errno = EINVAL;
        return -1;
    }
    int fd = connect_within(found), error = errno;
    freeaddrinfo(found);
    errno = error;
    return fd;
}

int hello_connect(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0)
        return connect_unix(address + 5);
    if (strncmp(address, "tcp:", 4) == 0)
        return connect_tcp(address + 4);
    errno = EINVAL;
    return -1;
}
