/* Files that are written as a whole: see fd.h. */
#include "core/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool fd_write_all(int fd, const void *from, size_t bytes)
{
    for (const char *p = from; bytes;) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

int fd_open_beside(const char *target, char *name, size_t cap)
{
    for (int i = 0; i < 100; i++) {
        if (snprintf(name, cap, "%s.%ld-%d.part", target, (long)getpid(), i) >= (int)cap) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}
