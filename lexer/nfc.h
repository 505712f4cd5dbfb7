/* Names are compared in normal form C, so that é typed as one character or as two is the same
 * name. */
#ifndef RICCI_LEXER_NFC_H
#define RICCI_LEXER_NFC_H

#include "core/base/source.h"

/* Code points of the text's normal form; out has room for 4 * len of them. */
size_t nfc_compose(const char *text, size_t len, uint32_t *out);

#endif
