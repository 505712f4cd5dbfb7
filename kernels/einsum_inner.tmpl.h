/* The innermost loop of the nest for one dtype: n steps, strides in elements, step 0 of the
 * result means a sum. Included by einsum.c with T, NAME, ADD(a, b) and MUL(a, b). */

static T NAME(dot)(const T *restrict x, const T *restrict y, int64_t n)
{
    T lane[8] = { 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] = ADD(lane[l], MUL(x[i + l], y[i + l]));
    for (int l = 0; i < n; i++, l++)
        lane[l] = ADD(lane[l], MUL(x[i], y[i]));
    for (int w = 4; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            lane[l] = ADD(lane[l], lane[l + w]);
    return lane[0];
}

static T NAME(product)(const char *const *in, const int64_t *stride, int operands, int64_t i)
{
    T p = ((const T *)in[0])[i * stride[0]];
    for (int k = 1; k < operands; k++)
        p = MUL(p, ((const T *)in[k])[i * stride[k]]);
    return p;
}

static void NAME(inner)(char *out, int64_t step, const char *const *in, const int64_t *stride, int operands,
                        int64_t n)
{
    T *restrict o = (T *)out;
    if (operands == 2) {
        const T *x = (const T *)in[0], *y = (const T *)in[1];
        int64_t sx = stride[0], sy = stride[1];
        if (step == 1 && sx == 0 && sy == 1) {
            T scale = *x;
            for (int64_t i = 0; i < n; i++)
                o[i] = ADD(o[i], MUL(scale, y[i]));
            return;
        }
        if (step == 0 && sx == 1 && sy == 1) {
            *o = ADD(*o, NAME(dot)(x, y, n));
            return;
        }
    }
    if (step != 0) {
        for (int64_t i = 0; i < n; i++)
            o[i * step] = ADD(o[i * step], NAME(product)(in, stride, operands, i));
        return;
    }
    T sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = ADD(sum, NAME(product)(in, stride, operands, i));
    *o = ADD(*o, sum);
}
#undef T
#undef NAME
#undef ADD
#undef MUL
