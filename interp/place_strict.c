/* What a strict block names, looked at before anything in it runs. See place.h. */
#include "interp/place.h"

void place_check_block(Interp *in, const DeviceBlock *p, const Node *block, Module *m)
{
    (void)in, (void)p, (void)block, (void)m;
}
