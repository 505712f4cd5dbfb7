/* Help on operations, functions and topics: `?svd`, help(f), `ricci doc NAME`. The texts
 * come from the registry's rows; builtins/help/help.c writes them. */
#ifndef RICCI_BUILTINS_HELP_H
#define RICCI_BUILTINS_HELP_H

#include "interp/op/op.h"

/* Help on a name (operation, operator, function of the program, topic), on an empty one
 * an overview. What is unknown gets did-you-mean and a search through all help lines. */
void help_show(Interp *, Buf *, const char *name);
/* False if help_show has nothing under exactly this name. */
bool help_known(Interp *, const char *name);
void help_value(Interp *, Buf *, Value);       /* of an operation, function or string */
/* `??words`: the help lines, topics and kinds of error that speak of them, best first. */
void help_search(Interp *, Buf *, const char *words);
/* The i-th word that ? knows besides operations and variables (a topic has several); false: there
 * are no more. text, unless NULL: what the topic says, at its first word, and "" at the others. */
enum { HELP_TOPIC_CAP = 32 };
bool help_topic(int i, char name[HELP_TOPIC_CAP], const char **text);
bool help_topic_name(int i, char name[HELP_TOPIC_CAP]);      /* the same, for completion */
/* The story of a kind of error with an example (help_kinds.c); false: there is no such kind. */
bool help_kind(Interp *, Buf *, const char *kind);
/* The reference of all operations as Markdown. */
void help_manual(Interp *, Buf *);

#endif
