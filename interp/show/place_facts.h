/* Devices as values (place_facts.c). */
#ifndef RICCI_INTERP_PLACE_FACTS_H
#define RICCI_INTERP_PLACE_FACTS_H

#include "interp/state/interp.h"

Value place_listed(Device *);                          /* as devices() gives it */
/* devices(), or a part of it: prints as a table */
bool place_is_list(Value);
void place_put_table(Buf *, const Value *devices, uint32_t n);
void place_put_html(Buf *, const Value *devices, uint32_t n);
Value place_field(Interp *, Device *, const Name *);   /* d.memory, sim.mps; raises `name` */

#endif
