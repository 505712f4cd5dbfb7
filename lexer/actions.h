/* The actions behind the rules of lexer.l, which is their only caller. The match being
 * acted on is lx->from .. lx->to. */
#ifndef RICCI_LEXER_ACTIONS_H
#define RICCI_LEXER_ACTIONS_H

#include "lexer/lexer.h"

/* False, and reported, where the text cannot be scanned at all: no UTF-8, a NUL byte, too
 * long. The tokens are then T_END alone. */
bool lex_accept(Lexer *);
void lex_release(Lexer *);                 /* tokens, comments, brackets */

/* Tokens. `len` counts bytes; text that is kept is copied. */
Token *lex_emit(Lexer *, int kind, int op);
void lex_emit_name(Lexer *, const char *text, int len);
void lex_emit_text(Lexer *, int kind, const char *text, size_t len);
void lex_emit_keyword(Lexer *, int kind, const char *text, int len);

/* Brackets, lines and strings. lex_close_brace: true if an interpolation ends there, so
 * that the string goes on. */
void lex_open_bracket(Lexer *, int kind, char open);
void lex_close_bracket(Lexer *, int kind, char open);
bool lex_close_brace(Lexer *);
void lex_end_line(Lexer *);
void lex_end_text(Lexer *);
void lex_string_open(Lexer *);
void lex_string_interpolate(Lexer *);
void lex_string_close(Lexer *);
void lex_string_unclosed(Lexer *);
void lex_string_codepoint(Lexer *, const char *digits);
void lex_add_comment(Lexer *);
void lex_end_extern(Lexer *);
void lex_extern_comment(Lexer *);          /* one that never ends */

/* Mistakes. lex_foreign: an operator of another language, with what stands for it here. */
void lex_bad_character(Lexer *);
void lex_bad_number(Lexer *, const char *text);
void lex_complain(Lexer *, Span, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void lex_foreign(Lexer *, const char *help);

/* Looks around the match. The _end functions give the offset where a repair goes on. */
bool lex_lone_step(Lexer *);
bool lex_letter_follows(Lexer *);
bool lex_at_spec(Lexer *);
int lex_last_kind(const Lexer *);
Span lex_match_span(const Lexer *);
void lex_quoted(Lexer *, uint32_t end);
uint32_t lex_quote_end(Lexer *);
uint32_t lex_docstring_end(Lexer *);
uint32_t lex_c_comment_end(Lexer *);

#endif
