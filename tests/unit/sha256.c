/* SHA-256 against the examples of FIPS 180-4 and HMAC-SHA256 against RFC 4231. */
#include "core/digest/sha256.h"
#include "tests/unit/check.h"

static bool digest_is(const void *data, size_t n, size_t step, const char *wanted)
{
    Sha256 s;
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha256_begin(&s);
    for (size_t at = 0; at < n; at += step)
        sha256_add(&s, (const char *)data + at, n - at < step ? n - at : step);
    sha256_end(&s, digest);
    sha256_hex(digest, hex);
    return strcmp(hex, wanted) == 0;
}

static bool code_is(const void *key, size_t k, const void *data, size_t n, const char *wanted)
{
    Hmac h;
    uint8_t code[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    hmac_begin(&h, key, k);
    hmac_add(&h, data, n / 2);
    hmac_add(&h, (const char *)data + n / 2, n - n / 2);
    hmac_end(&h, code);
    sha256_hex(code, hex);
    return strncmp(hex, wanted, strlen(wanted)) == 0;
}

static void digests(void)
{
    static char million[1000000];
    const char *long_text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    memset(million, 'a', sizeof million);
    CHECK(digest_is("", 0, 1,
                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    CHECK(digest_is("abc", 3, 1,
                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    for (size_t step = 1; step < 57; step += 5)
        CHECK(digest_is(long_text, 56, step,
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    CHECK(digest_is(million, sizeof million, 977,
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

/* RFC 4231, test cases 1 to 7. */
static void codes(void)
{
    char b20[20], aa[131], dd[50], cd[50], key4[25];
    memset(b20, 0x0b, sizeof b20);
    memset(aa, 0xaa, sizeof aa);
    memset(dd, 0xdd, sizeof dd);
    memset(cd, 0xcd, sizeof cd);
    for (int i = 0; i < 25; i++)
        key4[i] = (char)(i + 1);
    CHECK(code_is(b20, 20, "Hi There", 8,
                  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
    CHECK(code_is("Jefe", 4, "what do ya want for nothing?", 28,
                  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    CHECK(code_is(aa, 20, dd, 50,
                  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"));
    CHECK(code_is(key4, 25, cd, 50,
                  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"));
    memset(b20, 0x0c, sizeof b20);
    CHECK(code_is(b20, 20, "Test With Truncation", 20, "a3b6167473100ee06e0c796c2955552b"));
    CHECK(code_is(aa, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
    const char *last = "This is a test using a larger than block-size key and a larger than "
                       "block-size data. The key needs to be hashed before being used by the "
                       "HMAC algorithm.";
    CHECK(code_is(aa, 131, last, strlen(last),
                  "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"));
}

int main(void)
{
    digests();
    codes();
    return check_result();
}
