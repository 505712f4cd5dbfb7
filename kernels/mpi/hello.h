/* How a rank and the session get to know one another. The session listens and the rank calls; each
 * proves that it knows the token, by signing what the other one made up, and neither says it. */
#ifndef RICCI_KERNELS_MPI_HELLO_H
#define RICCI_KERNELS_MPI_HELLO_H

#include "core/digest/sha256.h"

#include <stdbool.h>
#include <stdint.h>

enum { HELLO_MAGIC = 0x4F4C4548, HELLO_NONCE = 32, TOKEN_TEXT = 2 * SHA256_BYTES };

/* A token that the launcher hands on in the environment, where nobody else of the machine reads
 * it, is "-" on the command line. */
#define TOKEN_VARIABLE "RICCI_MPI_TOKEN"

/* Session, at once: what is to be signed. */
typedef struct HelloChallenge {
    uint32_t magic, bytes;       /* of a HelloRank: the first thing that differs between versions */
    uint8_t nonce[HELLO_NONCE];
} HelloChallenge;

/* Rank. */
typedef struct HelloRank {
    uint32_t magic;
    int32_t rank, pid;
    char version[32], host[64];
    uint8_t nonce[HELLO_NONCE];
    uint8_t proof[SHA256_BYTES];           /* of the challenge and of what stands above */
} HelloRank;

/* What a rank is to let fail, and in which of its commands (from 1; 0: none). */
typedef enum FaultKind { FAULT_DIE, FAULT_MEMORY, FAULT_HANG, FAULTS } FaultKind;

/* Session. */
typedef struct HelloWelcome {
    uint32_t magic;
    int32_t p, q, block, threads;
    int32_t neighbours;                    /* ranks on its host, itself too */
    int32_t fault_kind;
    uint64_t fault_at;
    char refused[160];                     /* why it is not welcome; "": it is */
    uint8_t proof[SHA256_BYTES];           /* of the rank's nonce and of what stands above */
} HelloWelcome;

/* `from` and its first n bytes, with the other's nonce, signed. */
void hello_sign(uint8_t proof[SHA256_BYTES], const char *token, const uint8_t nonce[HELLO_NONCE],
                const void *from, size_t n);
bool hello_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);
/* Bytes that nobody can guess; false where there are none. */
bool hello_random(uint8_t *to, size_t n);
/* This machine's name, and this version. */
void hello_here(char host[64], char version[32]);
/* An address: `unix:NAME` is a socket without a file of this machine's network, `tcp:NUMBER:PORT`.
 * A socket that is connected to it, or -1 with errno. */
int hello_connect(const char *address);

#endif
