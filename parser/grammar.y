/* The grammar. Precedence is declared, loosest first; what LALR(1) cannot tell apart is
 * parsed in a general form (targets and parameters as expressions) and checked by the
 * makers of build.c, or was settled by the scanner. Mistakes resynchronise at the end of
 * their statement. */
%code requires {
#include "parser/build.h"
}

%code {
#include "core/base/error.h"

static int grammar_lex(YYSTYPE *value, YYLTYPE *place, ParseState *);
static void grammar_error(YYLTYPE *place, ParseState *, const char *message);
static bool grow_stacks(ParseState *, void **states, size_t state_bytes, void **values,
                        size_t value_bytes, void **places, size_t place_bytes, long used, long *size);

#define YYLLOC_DEFAULT(now, rhs, n) \
    ((now) = (n) ? (Span){ YYRHSLOC(rhs, 1).from, YYRHSLOC(rhs, n).to } \
                 : (Span){ YYRHSLOC(rhs, 0).to, YYRHSLOC(rhs, 0).to })
/* The stacks grow in the chunk's arena, so there is nothing to free when memory runs out. */
#define YYMAXDEPTH 4000000
#define yyoverflow(message, ss, ss_bytes, vs, vs_bytes, ls, ls_bytes, size) \
    do { \
        long grown = *(size); \
        if (!grow_stacks(ps, (void **)(ss), sizeof **(ss), (void **)(vs), sizeof **(vs), \
                         (void **)(ls), sizeof **(ls), yysize, &grown)) \
            YYNOMEM; \
        *(size) = grown; \
    } while (0)
}

%define api.pure full
%define api.prefix {grammar_}
%define api.token.prefix {T_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%define api.value.type union
%param { ParseState *ps }
%locations
%expect 0

%token END 0
%token NEWLINE SEMI COMMA LPAREN RPAREN LBRACKET RBRACKET LBRACE RBRACE
%token STR_END INTERP INTERP_END BAD
%token <const Token *> DOT COLON ELLIPSIS ASSIGN DEFINE UPDATE ARROW
%token <const Token *> PIPE OR AND NOT BAR AMP COMPARISON IN NOTIN SIGN PRODUCT PREFIX POWER TRANSPOSE
%token <const Token *> NAME INT FLOAT IMAG STRING STR_BEGIN STR_TEXT FORMAT
%token <const Token *> REDUCE MODIFIER MODARG AGAINST TEST TO AS FROM EXTERN_BODY
%token <const Token *> FN RETURN IF ELSE FOR WHILE BREAK CONTINUE TRUE FALSE NONE PRECISION AUTOCAST
%token <const Token *> ON LAZY COMPARE EXPLAIN TIMEIT PROFILE EXTERN IMPORT TRY CATCH THROW ASSERT

%precedence LOOSEST
%left PIPE
%left OR
%left AND
%precedence NOT
%left BAR
%left AMP
%left COMPARISON IN NOTIN
%left COLON
%left SIGN
%precedence REDUCTION
%left PRODUCT
%precedence PREFIX
%right POWER
%left TRANSPOSE LPAREN LBRACKET DOT
%precedence ARROW

%type <Seq> statements arguments arguments_list elements rows subscripts subscript_list bindings
%type <Seq> expressions patterns names entries modifiers string_parts for_opt else_ifs
%type <Node *> statement simple right expression block literal string_part argument subscript
%type <Node *> binding pattern operand device entry else_opt condition_opt against_opt bracketed
%type <Node *> row element_list compound explained
%type <bool> separator
%type <const Token *> as_opt explain_as name_opt

%%

program: statements             { ps->chunk->root = build_block(ps, @1, $1, false); }
;

statements:
  statement                     { $$ = (Seq){ 0 }; if ($1) seq_add(ps, &$$, $1); }
| statements separator statement { $$ = $1;
                                  if ($2 && $$.count) $$.items[$$.count - 1]->flags |= NF_SEMICOLON;
                                  if ($3) seq_add(ps, &$$, $3); }
;
separator:                      /* in step again after a mistake */
  NEWLINE                       { yyerrok; $$ = false; }
| SEMI                          { yyerrok; $$ = true; }
;

block: LBRACE statements RBRACE { $$ = build_block(ps, @$, $2, true); }
;

statement:
  %empty                        { $$ = NULL; }
| error                         { $$ = NULL; }
| simple
| EXPLAIN explain_as simple     { $$ = build_explain(ps, @$, $1, $2, $3); }
| RETURN                        { $$ = node_make(ps, ND_RETURN, @$, @1, NULL, NULL, NULL); }
| RETURN expressions            { $$ = node_make(ps, ND_RETURN, @$, @1, build_expressions(ps, @2, $2), NULL, NULL); }
| RETURN explained              { $$ = node_make(ps, ND_RETURN, @$, @1, $2, NULL, NULL); }
| BREAK                         { $$ = node_make(ps, ND_BREAK, @$, @1, NULL, NULL, NULL); }
| CONTINUE                      { $$ = node_make(ps, ND_CONTINUE, @$, @1, NULL, NULL, NULL); }
| THROW expression              { $$ = node_make(ps, ND_THROW, @$, @1, $2, NULL, NULL); }
| ASSERT expression             { $$ = node_make(ps, ND_ASSERT, @$, @1, $2, NULL, NULL); }
| ASSERT expression COMMA expression { $$ = node_make(ps, ND_ASSERT, @$, @1, $2, $4, NULL); }
| FN NAME LPAREN arguments RPAREN block { $$ = build_fn(ps, @$, $1, $2, $4, $6); }
| TEST STRING block             { $$ = node_make(ps, ND_TEST, @$, @1, build_literal(ps, ND_STRING, $2), $3, NULL); }
| IMPORT names as_opt           { $$ = build_import(ps, @$, $1, $2, NULL, $3); }
| IMPORT names FROM NAME        { $$ = build_import(ps, @$, $1, $2, $4, NULL); }
| IMPORT names FROM STRING      { $$ = build_import(ps, @$, $1, $2, $4, NULL); }
| IMPORT STRING as_opt          { $$ = build_import(ps, @$, $1, (Seq){ 0 }, $2, $3); }
| EXTERN STRING as_opt EXTERN_BODY { $$ = build_extern(ps, @$, $2, $3, $4); }
;

explain_as: %empty              { $$ = NULL; }
| AS NAME                       { $$ = $2; }
;
as_opt: %empty                  { $$ = NULL; }
| AS NAME                       { $$ = $2; }
;
names:
  NAME                          { $$ = (Seq){ 0 }; seq_add(ps, &$$, build_name(ps, $1)); }
| names COMMA NAME              { $$ = $1; seq_add(ps, &$$, build_name(ps, $3)); }
;

simple:
  expressions                   { $$ = build_expressions(ps, @$, $1); }
| expressions ASSIGN right      { $$ = build_assign(ps, @$, build_expressions(ps, @1, $1), $2, $3); }
| expressions UPDATE expressions { $$ = build_update(ps, @$, build_expressions(ps, @1, $1), $2,
                                                     build_expressions(ps, @3, $3)); }
| expression DEFINE expression for_opt { $$ = build_define(ps, @$, $1, $2, $3, $4); }
;
right:
  expressions                   { $$ = build_expressions(ps, @$, $1); }
| expressions ASSIGN right      { $$ = build_assign(ps, @$, build_expressions(ps, @1, $1), $2, $3); }
| explained
;
explained: EXPLAIN explain_as expressions
                                { $$ = build_explain(ps, @$, $1, $2, build_expressions(ps, @3, $3)); }
;
expressions:
  expression                    { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| expressions COMMA expression  { $$ = $1; seq_add(ps, &$$, $3); }
;
for_opt: %empty                 { $$ = (Seq){ 0 }; }
| FOR bindings                  { $$ = $2; }
;

expression:
  literal
| NAME                          { $$ = build_name(ps, $1); }
| bracketed
| compound
| LPAREN RPAREN                 { $$ = build_group(ps, @$, (Seq){ 0 }, true); }
| LPAREN arguments_list RPAREN  { $$ = build_group(ps, @$, $2, false); }
| LPAREN arguments_list COMMA RPAREN { $$ = build_group(ps, @$, $2, true); }
| expression LPAREN arguments RPAREN { $$ = build_call(ps, @$, $1, $3, @2); }
| expression LBRACKET subscripts RBRACKET
                                { $$ = build_index(ps, @$, $1, $3, (Span){ @2.from, @4.to }); }
| expression DOT NAME           { $$ = build_field(ps, @$, $1, $3); }
| expression TRANSPOSE          { $$ = build_link(ps, ND_TRANSPOSE, @$, @2, $1, NULL); }
| expression POWER expression   { $$ = build_binary(ps, $1, $2, $3); }
| SIGN expression %prec PREFIX  { $$ = build_unary(ps, $1, $2); }
| PREFIX expression             { $$ = build_unary(ps, $1, $2); }
| expression PRODUCT expression { $$ = build_binary(ps, $1, $2, $3); }
| REDUCE LBRACKET bindings RBRACKET expression %prec REDUCTION { $$ = build_reduce(ps, @$, $1, $3, $5); }
| expression SIGN expression    { $$ = build_binary(ps, $1, $2, $3); }
| expression COLON expression   { $$ = build_range(ps, @$, $1, $2, $3); }
| expression COMPARISON expression { $$ = build_compare(ps, $1, $2, $3); }
| expression IN expression      { $$ = build_compare(ps, $1, $2, $3); }
| expression NOTIN expression   { $$ = build_compare(ps, $1, $2, $3); }
| expression AMP expression     { $$ = build_binary(ps, $1, $2, $3); }
| expression BAR expression     { $$ = build_binary(ps, $1, $2, $3); }
| NOT expression                { $$ = node_make(ps, ND_NOT, @$, @1, $2, NULL, NULL); }
| expression AND expression     { $$ = build_link(ps, ND_AND, @$, @2, $1, $3); }
| expression OR expression      { $$ = build_link(ps, ND_OR, @$, @2, $1, $3); }
| expression PIPE expression    { $$ = build_link(ps, ND_PIPE, @$, @2, $1, $3); }
| expression ARROW expression %prec LOOSEST { $$ = build_lambda(ps, @$, $1, $2, $3); }
| expression ARROW block %prec LOOSEST { $$ = build_lambda(ps, @$, $1, $2, $3); }
| TIMEIT expression %prec LOOSEST { $$ = node_make(ps, ND_TIMEIT, @$, @1, $2, NULL, NULL); }
;

literal:
  INT                           { $$ = build_literal(ps, ND_INT, $1); }
| FLOAT                         { $$ = build_literal(ps, ND_FLOAT, $1); }
| IMAG                          { $$ = build_literal(ps, ND_IMAG, $1); }
| STRING                        { $$ = build_literal(ps, ND_STRING, $1); }
| STR_BEGIN string_parts STR_END { $$ = node_list(ps, ND_INTERP, @$, @$, $2); }
| TRUE                          { $$ = build_bool(ps, $1, true); }
| FALSE                         { $$ = build_bool(ps, $1, false); }
| NONE                          { $$ = node_make(ps, ND_NONE, @$, @$, NULL, NULL, NULL); }
;
string_parts:
  string_part                   { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| string_parts string_part      { $$ = $1; seq_add(ps, &$$, $2); }
;
string_part:
  STR_TEXT                      { $$ = build_literal(ps, ND_STRING, $1); }
| INTERP expression INTERP_END  { $$ = build_format(ps, @$, $2, NULL); }
| INTERP expression FORMAT INTERP_END { $$ = build_format(ps, @$, $2, $3); }
;

bracketed:
  LBRACKET RBRACKET             { $$ = node_list(ps, ND_VECTOR, @$, @$, (Seq){ 0 }); }
| LBRACKET element_list RBRACKET { $$ = $2; $$->kind = ND_VECTOR; $$->span = $$->mark = @$; }
| LBRACKET rows RBRACKET        { $$ = node_list(ps, ND_MATRIX, @$, @$, $2); }
| LBRACKET expression FOR bindings condition_opt RBRACKET
                                { $$ = build_comprehension(ps, @$, $2, $4, $5, @3); }
;
rows:
  element_list SEMI             { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| element_list SEMI row         { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); seq_add(ps, &$$, $3); }
| rows SEMI row                 { $$ = $1; seq_add(ps, &$$, $3); }
;
row: element_list
;
element_list:
  elements                      { $$ = node_list(ps, ND_ROW, @$, @$, $1); }
| elements COMMA                { $$ = node_list(ps, ND_ROW, @$, @$, $1); $$->flags |= NF_TRAILING_COMMA; }
;
elements:
  expression                    { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| elements COMMA expression     { $$ = $1; seq_add(ps, &$$, $3); }
;
condition_opt: %empty           { $$ = NULL; }
| IF expression                 { $$ = $2; }
;
bindings:
  binding                       { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| bindings COMMA binding        { $$ = $1; seq_add(ps, &$$, $3); }
;
binding:
  NAME                          { $$ = build_bind(ps, @$, build_name(ps, $1), NULL); }
| pattern IN expression         { $$ = build_bind(ps, @$, $1, $3); }
;
pattern:
  NAME                          { $$ = build_name(ps, $1); }
| LPAREN names RPAREN           { $$ = node_list(ps, ND_TUPLE, @$, @$, $2); $$->flags |= NF_PARENS; }
| LPAREN names COMMA RPAREN     { $$ = node_list(ps, ND_TUPLE, @$, @$, $2); $$->flags |= NF_PARENS | NF_TRAILING_COMMA; }
;
patterns:
  pattern                       { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| patterns COMMA pattern        { $$ = $1; seq_add(ps, &$$, $3); }
;

arguments: %empty               { $$ = (Seq){ 0 }; }
| arguments_list
| arguments_list COMMA
;
arguments_list:
  argument                      { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| arguments_list COMMA argument { $$ = $1; seq_add(ps, &$$, $3); }
;
argument:
  expression
| EXPLAIN explain_as expression { $$ = build_explain(ps, @$, $1, $2, $3); }
| expression ASSIGN expression  { $$ = build_named(ps, @$, $1, $3); }
| expression ELLIPSIS           { $$ = node_make(ps, ND_SPREAD, @$, @2, $1, NULL, NULL); }
;

subscripts: subscript_list
| subscript_list COMMA
;
subscript_list:
  subscript                     { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| subscript_list COMMA subscript { $$ = $1; seq_add(ps, &$$, $3); }
;
subscript:
  expression
| ELLIPSIS                      { $$ = node_make(ps, ND_ELLIPSIS, @$, @$, NULL, NULL, NULL); }
| COLON                         { $$ = build_slice(ps, @$, NULL, NULL, NULL, @1); }
| COLON expression              { $$ = build_slice(ps, @$, NULL, $2, NULL, @1); }
| COLON expression COLON        { $$ = build_slice(ps, @$, NULL, $2, NULL, @1); }
| COLON COLON                   { $$ = build_slice(ps, @$, NULL, NULL, NULL, @1); }
| COLON COLON expression        { $$ = build_slice(ps, @$, NULL, NULL, $3, @1); }
| expression COLON              { $$ = build_slice(ps, @$, $1, NULL, NULL, @2); }
| expression COLON COLON        { $$ = build_slice(ps, @$, $1, NULL, NULL, @2); }
| expression COLON COLON expression { $$ = build_slice(ps, @$, $1, NULL, $4, @2); }
;

compound:
  IF expression block else_ifs else_opt { $$ = build_if(ps, @$, $2, $3, $4, $5, @1); }
| WHILE expression block        { $$ = node_make(ps, ND_WHILE, @$, @1, $2, $3, NULL); }
| FOR patterns IN expression block { $$ = build_for(ps, @$, $1, $2, @2, $4, $5); }
| TRY block CATCH name_opt block { $$ = build_try(ps, @$, $1, $2, $4, $5); }
| PRECISION operand modifiers block { $$ = build_scope(ps, ND_PRECISION, @$, $1, $2, $3, $4); }
| AUTOCAST operand modifiers block { $$ = build_scope(ps, ND_AUTOCAST, @$, $1, $2, $3, $4); }
| ON device modifiers block     { $$ = build_scope(ps, ND_ON, @$, $1, $2, $3, $4); }
| LAZY block                    { $$ = node_make(ps, ND_LAZY, @$, @1, $2, NULL, NULL); }
| COMPARE entries against_opt block { $$ = build_scope(ps, ND_COMPARE_BLOCK, @$, $1, $3, $2, $4); }
| PROFILE block                 { $$ = node_make(ps, ND_PROFILE, @$, @1, $2, NULL, NULL); }
| PROFILE TO expression block   { $$ = node_make(ps, ND_PROFILE, @$, @1, $4, $3, NULL); }
| TIMEIT block                  { $$ = node_make(ps, ND_TIMEIT, @$, @1, $2, NULL, NULL); }
| EXPLAIN explain_as block      { $$ = build_explain(ps, @$, $1, $2, $3); }
;
else_ifs: %empty                { $$ = (Seq){ 0 }; }
| else_ifs ELSE IF expression block { $$ = $1; seq_add(ps, &$$, $4); seq_add(ps, &$$, $5); }
;
else_opt: %empty                { $$ = NULL; }
| ELSE block                    { $$ = $2; }
;
name_opt: %empty                { $$ = NULL; }
| NAME
;
against_opt: %empty             { $$ = NULL; }
| AGAINST entry                 { $$ = $2; }
;
entries:
  entry                         { $$ = (Seq){ 0 }; seq_add(ps, &$$, $1); }
| entries COMMA entry           { $$ = $1; seq_add(ps, &$$, $3); }
;
entry:
  operand
| PRECISION operand modifiers   { $$ = build_scope(ps, ND_PRECISION, @$, $1, $2, $3, NULL); }
| AUTOCAST operand modifiers    { $$ = build_scope(ps, ND_AUTOCAST, @$, $1, $2, $3, NULL); }
;
modifiers: %empty               { $$ = (Seq){ 0 }; }
| modifiers MODIFIER            { $$ = $1; seq_add(ps, &$$, build_modifier(ps, @2, $2, NULL)); }
| modifiers MODARG device       { $$ = $1; seq_add(ps, &$$, build_modifier(ps, (Span){ @2.from, @3.to }, $2, $3)); }
;
device: operand
| operand COLON INT             { $$ = build_device_index(ps, @$, $1, $3); }
;
operand:
  NAME                          { $$ = build_name(ps, $1); }
| LPAREN expression RPAREN      { $$ = $2; $$->flags |= NF_PARENS; }
| operand DOT NAME              { $$ = build_field(ps, @$, $1, $3); }
| operand LPAREN arguments RPAREN { $$ = build_call(ps, @$, $1, $3, @2); }
;

%%

/* Passes over the rest of a statement, whole blocks included, so that a broken header does not
 * leave its braces behind. True where it ends without a token for that: a header of Python ends
 * in a colon, after which a line goes on here. */
static bool skip_statement(ParseState *ps, size_t last)
{
    const Token *tokens = ps->lexer.tokens;
    size_t first = ps->next;
    for (int depth = 0; ps->next < last; ps->next++) {
        const Token *t = &tokens[ps->next];
        if (depth == 0 && (t->kind == T_NEWLINE || t->kind == T_RBRACE))
            return false;
        if (depth == 0 && ps->next > first && t->flags & TF_LINE && t[-1].kind == T_COLON)
            return true;
        depth += (t->kind == T_LBRACE) - (t->kind == T_RBRACE);
    }
    return false;
}

/* The next token. */
static int grammar_lex(YYSTYPE *value, YYLTYPE *place, ParseState *ps)
{
    const Token *tokens = ps->lexer.tokens;
    size_t last = ps->lexer.count - 1;
    if (ps->stop || ps->memory)
        ps->next = last;
    bool line = ps->skip && skip_statement(ps, last);
    ps->skip = false;
    if (line) {
        *place = tokens[ps->next].span;
        return T_NEWLINE;
    }
    size_t index = ps->next < last ? ps->next : last;
    const Token *t = &tokens[index];
    ps->next = index + 1;
    *place = t->span;
    value->T_NAME = t;
    return t->kind;
}

static int yyreport_syntax_error(const yypcontext_t *context, ParseState *ps)
{
    enum { MANY = 128 };
    yysymbol_kind_t symbols[MANY];
    int expected[MANY], count = yypcontext_expected_tokens(context, symbols, MANY);
    if (count < 0)
        return count;
    for (int i = 0; i < count; i++)
        for (int token = T_END; token <= T_ASSERT; token = token == T_END ? T_NEWLINE : token + 1)
            if (YYTRANSLATE(token) == symbols[i])
                expected[i] = token;
    size_t index = ps->next - 1;
    syntax_unexpected(ps, index, expected, count);
    int found = ps->lexer.tokens[index].kind;
    if (found == T_LBRACE) {
        ps->next--;                      /* pass over the whole block, not just its brace */
        ps->skip = true;
    } else if (found != T_NEWLINE && found != T_RBRACE && found != T_END) {
        ps->skip = true;
    }
    return 0;
}

/* Only for exhausted stacks. */
static void grammar_error(YYLTYPE *place, ParseState *ps, const char *message)
{
    (void)message;
    if (!ps->memory)
        syntax_error(ps, *place, NULL, "expression nested too deeply");
    ps->stop = true;
}

static bool grow_one(ParseState *ps, void **stack, size_t bytes, size_t used, size_t size)
{
    ErrFrame frame;
    if (!ERR_TRY(ps->ctx, &frame)) {
        ps->memory = true;
        return false;
    }
    void *grown = arena_alloc(&ps->chunk->arena, size * bytes);
    ERR_END(ps->ctx, &frame);
    memcpy(grown, *stack, used * bytes);
    *stack = grown;
    return true;
}

static bool grow_stacks(ParseState *ps, void **states, size_t state_bytes, void **values,
                        size_t value_bytes, void **places, size_t place_bytes, long used, long *size)
{
    if (*size >= YYMAXDEPTH)
        return false;
    *size *= 2;
    return grow_one(ps, states, state_bytes, (size_t)used, (size_t)*size) &&
           grow_one(ps, values, value_bytes, (size_t)used, (size_t)*size) &&
           grow_one(ps, places, place_bytes, (size_t)used, (size_t)*size);
}
