/* The loops over one result type OUT: contiguous, with a scalar operand, and strided.
 * The formula f is a constant at every call and is inlined. Operands may be the result
 * itself, element for element: so no iteration depends on another. */

static inline __attribute__((always_inline))
void L(loop1)(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
              OUT (*f)(T)) {
    OUT *o = out;
    const T *x = in[0];
    int64_t sx = si[0];
    if (so == 1 && sx == 1) {
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(x[i]);
    } else {
        for (int64_t i = 0; i < n; i++) o[i * so] = f(x[i * sx]);
    }
}

static inline __attribute__((always_inline))
void L(loop2)(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
              OUT (*f)(T, T)) {
    OUT *o = out;
    const T *x = in[0], *y = in[1];
    int64_t sx = si[0], sy = si[1];
    if (so == 1 && sx == 1 && sy == 1) {
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(x[i], y[i]);
    } else if (so == 1 && sx == 1 && sy == 0) {
        T b = *y;
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(x[i], b);
    } else if (so == 1 && sx == 0 && sy == 1) {
        T a = *x;
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(a, y[i]);
    } else {
        for (int64_t i = 0; i < n; i++) o[i * so] = f(x[i * sx], y[i * sy]);
    }
}

static inline __attribute__((always_inline, unused))
void L(loop3)(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
              OUT (*f)(T, T, T)) {
    OUT *o = out;
    const T *x = in[0], *y = in[1], *z = in[2];
    int64_t sx = si[0], sy = si[1], sz = si[2];
    if (so == 1 && sx == 1 && sy == 1 && sz == 1) {
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(x[i], y[i], z[i]);
    } else {
        for (int64_t i = 0; i < n; i++) o[i * so] = f(x[i * sx], y[i * sy], z[i * sz]);
    }
}

static inline __attribute__((always_inline, unused))
void L(loop_where)(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
                   OUT (*f)(uint8_t, T, T)) {
    OUT *o = out;
    const uint8_t *x = in[0];
    const T *y = in[1], *z = in[2];
    int64_t sx = si[0], sy = si[1], sz = si[2];
    if (so == 1 && sx == 1 && sy == 1 && sz == 1) {
        IVDEP
        for (int64_t i = 0; i < n; i++) o[i] = f(x[i], y[i], z[i]);
    } else {
        for (int64_t i = 0; i < n; i++) o[i * so] = f(x[i * sx], y[i * sy], z[i * sz]);
    }
}

#undef OUT
#undef L
