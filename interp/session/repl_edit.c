/* What keys do in an entry of several lines: Enter runs what is complete and goes on with what is
 * not, lines are indented, arrows move between lines before they move in the history. Readline's
 * commands know one line; those here take their places in its keymaps, so that a user's inputrc
 * and its vi mode go on to work. Everything else is called by readline. */
#include "interp/session/repl_edit.h"

#include "core/system/ascii.h"

#include <stdlib.h>
#include <string.h>

enum {
    INDENT = 4, OPEN_MAX = 256,
    /* bytes before the cursor up to which a line's indentation is sought */
    INDENT_MAX = 1 << 17,
    /* of a text of which the parser is asked, though a bracket is open */
    ASK_MAX = 1 << 13
};

static struct Edit {
    Interp *in;
    int goal;                    /* the column that Up and Down keep, in cells */
    int indented;                /* where the line starts that was indented last */
    size_t prefix;               /* how much of the text entries of the history must begin with */
} edit;

/* ---- lines of the entry ---- */
static int line_start(int at)
{
    while (at > 0 && rl_line_buffer[at - 1] != '\n')
        at--;
    return at;
}

static int line_stop(int at)
{
    while (at < rl_end && rl_line_buffer[at] != '\n')
        at++;
    return at;
}

static int blanks_at(int at)
{
    int n = 0;
    while (at + n < rl_end && (rl_line_buffer[at + n] == ' ' || rl_line_buffer[at + n] == '\t'))
        n++;
    return n;
}

static bool only_blanks_before(int at)
{
    int start = line_start(at);
    return start + blanks_at(start) >= at;
}

static int cells(int from, int to)
{
    return text_width(rl_line_buffer + from, (size_t)(to - from));
}

/* ---- brackets ---- */
typedef struct Open {
    int at[OPEN_MAX], depth;
    int code_end;                /* behind the last of the point's line that is no comment */
    char inside;                 /* ` or * or C: the point is in a raw string, a comment, in C */
} Open;

/* The brackets that are open at the point. False: the text is too long to look. */
static bool find_open(Open *open)
{
    uint8_t *paint = rl_point <= INDENT_MAX ? malloc((size_t)rl_point + 1) : NULL;
    Scan scan = { 0 };
    open->depth = 0;
    if (!paint)
        return false;
    for (int start = 0; start <= rl_point;) {
        int stop = line_stop(start), end = stop < rl_point ? stop : rl_point;
        colour_line(edit.in, &scan, rl_line_buffer + start, (size_t)(end - start), paint + start);
        open->code_end = end;
        while (open->code_end > start && (paint[open->code_end - 1] == PAINT_COMMENT ||
                                          ascii_blank(rl_line_buffer[open->code_end - 1])))
            open->code_end--;
        start = stop + 1;
    }
    for (int i = 0; i < rl_point; i++)
        if (paint[i] == PAINT_BRACKET && strchr("([{", rl_line_buffer[i]) && open->depth < OPEN_MAX)
            open->at[open->depth++] = i;
        else if (paint[i] == PAINT_BRACKET && strchr(")]}", rl_line_buffer[i]) && open->depth > 0)
            open->depth--;
    char last = '\0';
    if (scan.depth > 0 && scan.depth <= SCAN_DEEP)
        last = scan.open[scan.depth - 1];
    open->inside = last && strchr("`*", last) ? last : '\0';
    free(paint);
    return true;
}

static bool goes_on(const Open *open)
{
    static const char *const words[] = { "and", "or", "not", "in" };
    int end = open->code_end, start = line_start(rl_point);
    if (end <= start)
        return false;
    if (strchr("=+-*/%@^|&<>\\,:!", rl_line_buffer[end - 1]))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int n = (int)strlen(words[i]);
        if (end - start > n && memcmp(rl_line_buffer + end - n, words[i], (size_t)n) == 0 &&
            rl_line_buffer[end - n - 1] == ' ')
            return true;
    }
    return false;
}

/* The indentation of lines directly inside the innermost open bracket. */
static int inner_indent(const Open *open)
{
    if (open->depth == 0)
        return 0;
    int at = open->at[open->depth - 1], start = line_start(at), stop = line_stop(at);
    int first = at + 1 + blanks_at(at + 1);
    bool listed = first < stop && first < rl_point && rl_line_buffer[first] != '#';
    if (rl_line_buffer[at] != '{' && listed)
        return cells(start, first);
    if (stop < line_start(rl_point) && stop + 1 + blanks_at(stop + 1) < line_stop(stop + 1))
        return blanks_at(stop + 1);              /* as the block's first line stands */
    return blanks_at(start) + INDENT;
}

static int outer_indent(const Open *open)
{
    return open->depth ? blanks_at(line_start(open->at[open->depth - 1])) : 0;
}

static void insert_line(int indent)
{
    char *text = malloc((size_t)indent + 2);
    if (!text)
        return;
    text[0] = '\n';
    memset(text + 1, ' ', (size_t)indent);
    text[indent + 1] = '\0';
    rl_insert_text(text);
    free(text);
}

/* A new line, indented as its place asks, but where it is pasted and the next one comes already;
 * `{|}` opens into three lines. */
static int new_line(int count, int key)
{
    Open open;
    (void)count, (void)key;
    if (key_is_there() || !find_open(&open) || open.inside == '`') {
        rl_insert_text("\n");
        return 0;
    }
    rl_begin_undo_group();
    rl_delete_text(rl_point, rl_point + blanks_at(rl_point));
    int start = line_start(rl_point), kept = open.inside ? blanks_at(start) : inner_indent(&open);
    bool closes = rl_point < rl_end && strchr(")]}", rl_line_buffer[rl_point]);
    int inner = open.depth ? open.at[open.depth - 1] : -1;
    bool between = closes && inner >= start && inner == open.code_end - 1;
    if (!open.inside && goes_on(&open) && (inner < 0 || rl_line_buffer[inner] == '{'))
        kept += INDENT;
    int outer = outer_indent(&open);
    if (only_blanks_before(rl_point) && rl_point > start) {
        rl_delete_text(start, rl_point);
        rl_point = start;
    }
    insert_line(closes && !between ? outer : kept);
    edit.indented = line_start(rl_point);
    if (between) {
        int point = rl_point;
        insert_line(outer);
        rl_point = point;
    }
    rl_end_undo_group();
    return 0;
}

/* A closing bracket that is first on its line stands under the line of its opening one. */
static int close_bracket(int count, int key)
{
    Open open;
    char text[2] = { (char)key, '\0' };
    int start = line_start(rl_point);
    rl_begin_undo_group();
    bool typed = start == edit.indented || !key_is_there();
    if (typed && start > 0 && start < rl_point && only_blanks_before(rl_point) &&
        find_open(&open) && !open.inside && open.depth > 0) {
        int indent = outer_indent(&open);
        rl_delete_text(start, rl_point);
        rl_point = start;
        while (indent-- > 0)
            rl_insert_text(" ");
    }
    while (count-- > 0)
        rl_insert_text(text);
    rl_end_undo_group();
    return 0;
}

/* ---- the end of an entry ---- */
static void drop_prompts(void)
{
    int start = line_start(rl_point), stop = line_stop(rl_point);
    size_t n = paste_prompt(rl_line_buffer + start, (size_t)(stop - start), start > 0);
    if (n == 0)
        return;
    rl_delete_text(start, start + (int)n);
    rl_point = rl_point - (int)n > start ? rl_point - (int)n : start;
}

static int accept_entry(int key)
{
    draw_finish();
    return rl_newline(1, key);
}

/* Enter runs a complete entry, wherever in it the cursor stands. Ctrl-J by hand is a new line; in
 * what was typed ahead the terminal has made it of Enter. */
static int enter(int count, int key)
{
    if (key_has_ended())
        return 0;
    drop_prompts();
    if (key == '\n' && key_is_alone() && rl_end > 0)
        return new_line(count, key);
    bool open = rl_end > ASK_MAX && rl_point == rl_end && draw_is_open();
    if (rl_end == 0 || (!open && entry_is_done(rl_line_buffer, (size_t)rl_end)))
        return accept_entry(key);
    if (rl_point == rl_end && key_is_alone())
        entry_hint(rl_line_buffer, (size_t)rl_end);
    return new_line(count, key);
}

/* ---- moving ---- */
static bool keeps_going(rl_command_func_t *up, rl_command_func_t *down)
{
    return rl_last_func == up || rl_last_func == down;
}

/* To the goal column of the line that starts there. */
static void move_to_line(int start)
{
    int stop = line_stop(start), at = start;
    for (int column = 0; at < stop && column < edit.goal;) {
        size_t next = (size_t)at;
        utf8_next(rl_line_buffer, (size_t)stop, &next);
        column += cells(at, (int)next);
        at = (int)next;
    }
    rl_point = at;
}

/* The next entry in a direction that begins as the text before the cursor did; where it ends,
 * the text that was there first. */
static int move_in_history(int step, int key)
{
    HIST_ENTRY **list = history_list();
    int here = where_history(), at = here + step;
    while (list && at >= 0 && at < history_length &&
           (strncmp(list[at]->line, rl_line_buffer, edit.prefix) != 0 ||
            strcmp(list[at]->line, rl_line_buffer) == 0))
        at += step;
    if (!list || at < 0 || (step > 0 && here >= history_length))
        return rl_ding();
    if (at < here)
        rl_get_previous_history(here - at, key);
    else
        rl_get_next_history(at - here, key);
    if (rl_get_keymap() != vi_movement_keymap)
        rl_point = rl_end;
    return 0;
}

static int up(int count, int key);

static int down(int count, int key)
{
    bool again = keeps_going(up, down);
    int start = line_start(rl_point), stop = line_stop(rl_point);
    (void)count;
    if (!again) {
        edit.goal = cells(start, rl_point);
        edit.prefix = (size_t)rl_point;
    }
    if (stop < rl_end)
        move_to_line(stop + 1);
    else
        return move_in_history(1, key);
    return 0;
}

static int up(int count, int key)
{
    bool again = keeps_going(up, down);
    int start = line_start(rl_point);
    (void)count;
    if (!again) {
        edit.goal = cells(start, rl_point);
        edit.prefix = (size_t)rl_point;
    }
    if (start > 0)
        move_to_line(line_start(start - 1));
    else
        return move_in_history(-1, key);
    return 0;
}

/* Home goes to the begin of the line, and once more to the begin of the entry; End likewise. */
static int home(int count, int key)
{
    int start = line_start(rl_point);
    (void)count, (void)key;
    rl_point = start == rl_point && rl_last_func == home ? 0 : start;
    return 0;
}

static int end(int count, int key)
{
    int stop = line_stop(rl_point);
    (void)count, (void)key;
    rl_point = stop == rl_point && rl_last_func == end ? rl_end : stop;
    return 0;
}

/* ---- deleting ---- */
static int kill_line(int count, int key)
{
    if (count < 0 || rl_end == line_stop(rl_point))
        return rl_kill_line(count, key);
    int stop = line_stop(rl_point);
    return rl_kill_text(rl_point, stop > rl_point ? stop : stop + 1);
}

static int discard_line(int count, int key)
{
    int start = line_start(rl_point), point = rl_point;
    (void)count, (void)key;
    if (point == 0)
        return rl_ding();
    start = start < point ? start : point - 1;
    rl_kill_text(point, start);
    rl_point = start;
    return 0;
}

/* Backspace in a line's indentation takes a step of it. */
static int rubout(int count, int key)
{
    int start = line_start(rl_point), column = rl_point - start;
    if (count != 1 || start == 0 || column < 2 || !only_blanks_before(rl_point) ||
        memchr(rl_line_buffer + start, '\t', (size_t)column))
        return rl_rubout(count, key);
    int from = start + (column - 1) / INDENT * INDENT;
    rl_delete_text(from, rl_point);
    rl_point = from;
    return 0;
}

static int tab(int count, int key)
{
    int start = line_start(rl_point);
    if (start == 0 || !only_blanks_before(rl_point)) {
        if (rl_last_func == tab)
            rl_last_func = rl_complete;        /* so that readline knows a second TAB */
        return rl_complete(count, key);
    }
    do
        rl_insert_text(" ");
    while ((rl_point - start) % INDENT != 0);
    return 0;
}

/* ---- the screen ---- */
static int clear_screen(int count, int key)
{
    (void)count, (void)key;
    draw_clear("\033[H\033[2J");
    return 0;
}

static int clear_display(int count, int key)
{
    (void)count, (void)key;
    draw_clear("\033[H\033[2J\033[3J");
    return 0;
}

static int list_completions(int count, int key)
{
    (void)count, (void)key;
    entry_below_begin();
    rl_complete_internal('?');
    entry_below_end();
    return 0;
}

/* ---- keymaps ---- */
static const struct Replacement { rl_command_func_t *of, *by; } replacements[] = {
    { rl_newline, enter }, { rl_get_previous_history, up }, { rl_get_next_history, down },
    { rl_beg_of_line, home }, { rl_end_of_line, end }, { rl_kill_line, kill_line },
    { rl_unix_line_discard, discard_line }, { rl_rubout, rubout }, { rl_complete, tab },
    { rl_possible_completions, list_completions }, { rl_clear_screen, clear_screen },
    { rl_clear_display, clear_display }, { rl_refresh_line, clear_screen },
    { rl_bracketed_paste_begin, paste_read } };

static void replace_in(Keymap map, bool plain)
{
    for (int key = 0; key < KEYMAP_SIZE; key++) {
        KEYMAP_ENTRY *entry = &map[key];
        if (entry->type == ISKMAP) {
            replace_in((Keymap)(void *)entry->function, false);
            continue;
        }
        if (entry->type != ISFUNC)
            continue;
        if (plain && entry->function == rl_insert && (key == ')' || key == ']' || key == '}'))
            entry->function = close_bracket;
        for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
            if (entry->function == replacements[i].of) {
                entry->function = replacements[i].by;
                break;
            }
    }
}

void edit_bind(Interp *in)
{
    static const char *const breaks[] = { "\\e\\C-m", "\\e\\C-j" };
    static const char *const shifted[] =
        { "\\e[13;2u", "\\e[13;5u", "\\e[27;2;13~", "\\e[27;5;13~" };
    Keymap emacs = rl_get_keymap_by_name("emacs-standard");
    Keymap insert = rl_get_keymap_by_name("vi-insert");
    edit.in = in;
    edit.indented = -1;
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        rl_bind_keyseq_in_map(breaks[i], new_line, emacs);
    for (size_t i = 0; i < sizeof shifted / sizeof *shifted; i++) {
        rl_bind_keyseq_if_unbound_in_map(shifted[i], new_line, emacs);
        rl_bind_keyseq_if_unbound_in_map(shifted[i], new_line, insert);
    }
    if (insert['L' - '@'].function == rl_insert)
        insert['L' - '@'].function = clear_screen;
    replace_in(emacs, true);
    replace_in(insert, true);
    replace_in(rl_get_keymap_by_name("vi-move"), false);
}
