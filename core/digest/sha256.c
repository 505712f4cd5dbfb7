/* SHA-256 and HMAC: see sha256.h. */
#include "core/digest/sha256.h"

#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

void sha256_begin(Sha256 *s)
{
    *s = (Sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void put_big_endian(uint8_t *out, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

static void take_block(Sha256 *s)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) {
        const uint8_t *b = s->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, s->state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + round_constants[i] + w[i];
        uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->state[i] += v[i];
}

void sha256_add(Sha256 *s, const void *data, size_t n)
{
    const uint8_t *from = data;
    while (n > 0) {
        size_t at = s->bytes % SHA256_BLOCK, room = SHA256_BLOCK - at, take = n < room ? n : room;
        memcpy(s->block + at, from, take);
        s->bytes += take;
        from += take;
        n -= take;
        if (take == room)
            take_block(s);
    }
}

void sha256_end(Sha256 *s, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t one[SHA256_BLOCK] = { 0x80 };
    uint8_t length[8];
    put_big_endian(length, s->bytes * 8, 8);
    size_t at = s->bytes % SHA256_BLOCK;
    sha256_add(s, one, (at < 56 ? 56 : 120) - at);
    sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        put_big_endian(digest + 4 * i, s->state[i], 4);
}

void hmac_begin(Hmac *h, const void *key, size_t n)
{
    uint8_t block[SHA256_BLOCK] = { 0 };
    if (n > SHA256_BLOCK) {
        sha256_begin(&h->inner);
        sha256_add(&h->inner, key, n);
        sha256_end(&h->inner, block);
    } else if (n > 0) {
        memcpy(block, key, n);
    }
    for (int i = 0; i < SHA256_BLOCK; i++)
        block[i] ^= 0x36;
    sha256_begin(&h->inner);
    sha256_add(&h->inner, block, sizeof block);
    for (int i = 0; i < SHA256_BLOCK; i++)
        block[i] ^= 0x36 ^ 0x5c;
    sha256_begin(&h->outer);
    sha256_add(&h->outer, block, sizeof block);
}

void hmac_add(Hmac *h, const void *data, size_t n)
{
    sha256_add(&h->inner, data, n);
}

void hmac_end(Hmac *h, uint8_t code[SHA256_BYTES])
{
    sha256_end(&h->inner, code);
    sha256_add(&h->outer, code, SHA256_BYTES);
    sha256_end(&h->outer, code);
}

void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[2 * SHA256_BYTES + 1])
{
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[2 * SHA256_BYTES] = '\0';
}
