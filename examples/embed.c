/* Ricci inside a C program: tensors without a copy, a C function as an operation, errors.
 *     cc embed.c $(pkg-config --cflags --libs ricci) -o embed */
#include <ricci.h>
#include <stdio.h>
#include <stdlib.h>

/* What programs get: spring(x) is the force of a spring that stiffens. */
static double spring(double x)
{
    return -2 * x - x * x * x;
}

static int failed(Ricci *r)
{
    fputs(ricci_error(r), stdout);
    ricci_close(r);
    return EXIT_FAILURE;
}

int main(void)
{
    /* The matrix of a chain of springs, in memory of our own. */
    static double stiffness[4][4] =
        { { 2, -1, 0, 0 }, { -1, 2, -1, 0 }, { 0, -1, 2, -1 }, { 0, 0, -1, 2 } };
    const int64_t shape[] = { 4, 4 };
    Ricci *r = ricci_open();
    if (!r)
        return EXIT_FAILURE;

    /* Ricci works on that memory itself; nothing is copied. */
    if (ricci_set_tensor(r, "K", ricci_wrap("f64", 2, shape, stiffness, NULL, NULL)))
        return failed(r);
    if (ricci_eval(r, "u = K \\ [1.0, 0, 0, 1]; u"))
        return failed(r);
    printf("u = %s\n", ricci_result(r));

    /* And back: the elements of u where they are. */
    DLManagedTensorVersioned *u = ricci_get_tensor(r, "u"), *K = ricci_get_tensor(r, "K");
    if (!u || !K)
        return failed(r);
    const double *x = u->dl_tensor.data;
    printf("u[3] = %.2f of %d, K at the same address: %s\n", x[3], (int)u->dl_tensor.shape[0],
           K->dl_tensor.data == (void *)stiffness ? "yes" : "no");
    K->deleter(K);

    /* u is ours as it was, whatever the program does with its variable. */
    ricci_eval(r, "u[3] = -1");
    printf("still %.2f\n", x[3]);
    u->deleter(u);

    /* A C function that programs call as any other. */
    if (ricci_register(r, "double spring(double x);", (void (*)(void))spring))
        return failed(r);
    if (ricci_eval(r, "print(\"forces:\", map(spring, [0.5, 1, 2]))"))
        return failed(r);

    /* What goes wrong is told in full, and the interpreter goes on. */
    if (ricci_eval(r, "fn energy(u) { u' @ K @ u / 2 }\nenergy([1.0, 2, 3])"))
        printf("%s", ricci_error(r));
    const RicciError *e = ricci_error_parts(r);
    if (e)
        printf("kind %s, line %d, column %d\n", e->kind, e->line, e->column);
    double energy;
    if (ricci_eval(r, "E = energy(u)") || ricci_get_double(r, "E", &energy))
        return failed(r);
    printf("energy %g\n", energy);
    ricci_close(r);
    return EXIT_SUCCESS;
}
