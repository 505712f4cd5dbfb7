/* A vector V of elements T at any address of one, and one with the same element in all lanes; FN
 * makes the names. */
static inline __attribute__((always_inline)) V FN(load)(const T *from)
{
    V x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline __attribute__((always_inline)) void FN(store)(T *to, V x)
{
    memcpy(to, &x, sizeof x);
}

static inline __attribute__((always_inline)) V FN(all)(T x)
{
    return x - (V){ 0 };
}
