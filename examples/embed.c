/* Ricci inside a C program: an interpreter is opened, evaluates text, and reports errors.
 *     cc embed.c $(pkg-config --cflags --libs ricci) -o embed */
#include <ricci.h>
#include <stdio.h>

int main(void)
{
    Ricci *ricci = ricci_open();
    if (!ricci)
        return 1;
    ricci_eval(ricci, "A = [2, 1; 1, 3]");
    if (ricci_eval(ricci, "A \\ [3, 5]") == 0)
        printf("%s\n", ricci_result(ricci));
    if (ricci_eval(ricci, "A @ [1, 2, 3]") != 0)
        printf("%s", ricci_error(ricci));
    ricci_eval(ricci, "det(A)");
    printf("still here: det(A) = %s\n", ricci_result(ricci));
    ricci_close(ricci);
    return 0;
}
