/* The plain triple loop for one type T, named by FN: the reference kernel of gemm.c, and
 * what it uses for products too small to be worth a call. Included by gemm.c only. */
static void FN(small)(int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c)
{
    const T *pa = (const T *)(void *)a.data, *pb = (const T *)(void *)b.data;
    T *pc = (T *)(void *)c.data;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += pa[i * a.rs + p * a.cs] * pb[p * b.rs + j * b.cs];
            pc[i * c.rs + j * c.cs] = sum;
        }
}
#undef T
#undef FN
