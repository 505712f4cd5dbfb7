/* libricci: Ricci inside a C program. This is the installed header; it needs no other.
 * One interpreter per thread; separate interpreters are independent. Tensors without
 * copies and C functions as operations are later work. */
#ifndef RICCI_H
#define RICCI_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Ricci Ricci;

/* A new interpreter, or NULL when memory is spent. */
Ricci *ricci_open(void);
void ricci_close(Ricci *);

/* Runs text as a program. Returns 0, or 1 after an error. Variables and functions stay
 * for the next call. */
int ricci_eval(Ricci *, const char *text);
/* The value of the last statement as `print` shows it; "" for none. Valid until the
 * next call on this interpreter. */
const char *ricci_result(Ricci *);
/* The last error as the program `ricci` reports it; "" if there was none. */
const char *ricci_error(Ricci *);

#ifdef __cplusplus
}
#endif
#endif
