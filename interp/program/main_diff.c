/* Differences of two texts by lines: the fewest lines that go and come, by the table of the
 * longest common subsequence. What `ricci fmt --diff` and `ricci doctest` show. */
#include "interp/program/main.h"

#include <stdlib.h>
#include <string.h>

/* Beyond this many pairs of lines the texts are taken to differ in one piece. */
enum { PAIRS_MAX = 1 << 22, COST_LINE = 2 };

static bool same_text(void *with, const char *want, size_t n, const char *got, size_t m)
{
    (void)with;
    return n == m && memcmp(want, got, n) == 0;
}

const LineRule line_exact = { same_text, NULL, NULL };

Lines lines_of(const char *text, size_t n)
{
    size_t count = 0, k = 0;
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n' || i + 1 == n;
    Lines lines = { .count = count };
    lines.at = app_alloc(count * sizeof *lines.at);
    lines.len = app_alloc(count * sizeof *lines.len);
    for (size_t i = 0; i < n; k++) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t len = end ? (size_t)(end - text) - i : n - i;
        lines.at[k] = text + i;
        lines.len[k] = len;
        i += len + 1;
    }
    return lines;
}

void lines_free(Lines *lines)
{
    free(lines->at);
    free(lines->len);
    *lines = (Lines){ 0 };
}

static bool stands_for_any(const LineRule *rule, const Lines *want, size_t i)
{
    return rule->any && rule->any(want->at[i], want->len[i]);
}

static bool equal(const LineRule *rule, const Lines *want, size_t i, const Lines *got, size_t j)
{
    return rule->equal(rule->with, want->at[i], want->len[i], got->at[j], got->len[j]);
}

static void step(Diff *diff, char what, size_t times)
{
    memset(diff->steps + diff->count, what, times);
    diff->count += times;
    diff->same &= times == 0 || !strchr("+-", what);
}

/* The cheapest way from each pair (i, j) to the end, rows of want by columns of got; a line
 * that stands for any costs nothing, whatever it takes. Then the way itself. */
static void solve(Diff *diff, const Lines *want, size_t from, size_t m, const Lines *got, size_t at,
                  size_t n, const LineRule *rule)
{
    unsigned *cost = app_alloc((m + 1) * (n + 1) * sizeof *cost);
    char *way = app_alloc((m + 1) * (n + 1));
    for (size_t i = m + 1; i-- > 0;)
        for (size_t j = n + 1; j-- > 0;) {
            size_t k = i * (n + 1) + j;
            bool any = i < m && stands_for_any(rule, want, from + i);
            unsigned best = i == m && j == n ? 0 : ~0u;
            if (i < m && j < n && !any && equal(rule, want, from + i, got, at + j))
                best = cost[k + n + 2], way[k] = '=';
            if (any && cost[k + n + 1] < best)
                best = cost[k + n + 1], way[k] = '*';
            if (any && j < n && cost[k + 1] < best)
                best = cost[k + 1], way[k] = '~';
            if (i < m && !any && cost[k + n + 1] + COST_LINE < best)
                best = cost[k + n + 1] + COST_LINE, way[k] = '-';
            if (j < n && !any && cost[k + 1] + COST_LINE < best)
                best = cost[k + 1] + COST_LINE, way[k] = '+';
            cost[k] = best;
        }
    for (size_t i = 0, j = 0; i < m || j < n;) {
        char what = way[i * (n + 1) + j];
        step(diff, what, 1);
        i += what == '=' || what == '-' || what == '*';
        j += what == '=' || what == '+' || what == '~';
    }
    free(cost);
    free(way);
}

Diff diff_lines(const Lines *want, const Lines *got, const LineRule *rule)
{
    Diff diff = { app_alloc(want->count + got->count), 0, true };
    size_t m = want->count, n = got->count, head = 0, tail = 0;
    while (head < m && head < n && !stands_for_any(rule, want, head) &&
           equal(rule, want, head, got, head))
        head++;
    while (tail < m - head && tail < n - head && !stands_for_any(rule, want, m - tail - 1) &&
           equal(rule, want, m - tail - 1, got, n - tail - 1))
        tail++;
    m -= head + tail;
    n -= head + tail;
    step(&diff, '=', head);
    if ((m + 1) * (n + 1) <= PAIRS_MAX) {
        solve(&diff, want, head, m, got, head, n, rule);
    } else {
        step(&diff, '-', m);
        step(&diff, '+', n);
    }
    step(&diff, '=', tail);
    return diff;
}

void diff_free(Diff *diff)
{
    free(diff->steps);
    *diff = (Diff){ 0 };
}

/* ---- showing ---- */
static bool changes(const Diff *diff, size_t k)
{
    return diff->steps[k] == '+' || diff->steps[k] == '-';
}

static bool near_change(const Diff *diff, size_t k, size_t around)
{
    size_t from = k > around ? k - around : 0;
    for (size_t i = from; i <= k + around && i < diff->count; i++)
        if (changes(diff, i))
            return true;
    return false;
}

static void put_line(Text *out, const char *indent, char sign, const char *line, size_t n,
                     bool colours)
{
    const char *on = !colours || sign == ' ' ? "" : sign == '-' ? "\033[31m" : "\033[32m";
    text_printf(out, "%s%s%c ", indent, on, sign);
    while (n > 0 && line[n - 1] == '\r')
        n--;
    if (colours)                             /* a terminal */
        text_plain(out, "%.*s", (int)n, line);
    else
        text_put(out, line, n);
    text_puts(out, *on ? "\033[0m\n" : "\n");
}

void diff_show(Text *out, const Diff *diff, const Lines *want, const Lines *got, const char *indent,
               size_t around, size_t most, size_t first, bool colours)
{
    size_t i = 0, j = 0, shown = 0;
    bool apart = true;
    for (size_t k = 0; k < diff->count; k++) {
        char what = diff->steps[k];
        bool wanted = strchr("=-*", what) != NULL, came = strchr("=+~", what) != NULL;
        bool show = near_change(diff, k, around);
        if (show && shown == most) {
            text_printf(out, "%s…\n", indent);
            return;
        }
        if (show && apart && first)
            text_printf(out, "%s@@ line %zu\n", indent, first + i);
        if (show) {
            put_line(out, indent, changes(diff, k) ? what : ' ', wanted ? want->at[i] : got->at[j],
                     wanted ? want->len[i] : got->len[j], colours);
            shown++;
        }
        apart = !show;
        i += wanted;
        j += came;
    }
}
