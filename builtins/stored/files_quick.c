/* The powers of ten of quick.h. */
#include "builtins/stored/quick.h"
#include "interp/show/show.h"

void quick_powers(QuickPowers *p)
{
    for (int k = QUICK_LOW; k <= QUICK_HIGH; k++)
        decimal_power_bits(k, k >= -27 && k < 0, p->of[k - QUICK_LOW]);
}
