/* SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104). Nothing here takes memory or raises. */
#ifndef RICCI_CORE_SHA256_H
#define RICCI_CORE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[SHA256_BLOCK];
} Sha256;

void sha256_begin(Sha256 *);
void sha256_add(Sha256 *, const void *data, size_t n);
void sha256_end(Sha256 *, uint8_t digest[SHA256_BYTES]);

typedef struct Hmac { Sha256 inner, outer; } Hmac;

void hmac_begin(Hmac *, const void *key, size_t n);
void hmac_add(Hmac *, const void *data, size_t n);
void hmac_end(Hmac *, uint8_t code[SHA256_BYTES]);
/* In small hexadecimal digits, with a NUL. */
void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[2 * SHA256_BYTES + 1]);

#endif
