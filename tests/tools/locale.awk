# Calls that would ask the locale of the process (awk -f tests/tools/locale.awk FILE…), one a line. Numbers
# have core/system/c_locale.h, letters core/system/ascii.h; those two may. Without a list of files that are exempt, but:
# readline needs a locale for this thread (repl_line.c), glob sorts (loader_search.c stands between
# c_locale_enter and c_locale_leave). printf and scanf are allowed for text and whole numbers.
BEGIN {
    letters = "is(alpha|alnum|digit|xdigit|space|blank|upper|lower|punct|cntrl|print|graph|w[a-z]+)|to(upper|lower|ascii|wupper|wlower)" \
        "|strn?casecmp|strcasestr|strcoll|strxfrm|alphasort|versionsort|fnmatch|glob|reg(comp|exec)|wordexp"
    wide = "mb[a-z]*to[a-z]*|mbr?len|mbsinit|wc[a-z]+|btowc|wctob|[fsv]*wprintf|[fsv]*wscanf|iconv|nl_langinfo"
    numbers = "strto(d|f|ld)|atof|strfrom(d|f|l)|[efg]cvt|strfmon|v[a-z]*printf|v[a-z]*scanf|mpfr_[a-z]*printf|gmp_[a-z]*(printf|scanf)|mpf_set_str"
    words = "strerror(_r|_l)?|strsignal|perror|psignal|dlerror|gai_strerror|strftime|strptime|setlocale|newlocale|uselocale|localeconv|gettext"
    forbidden = "(^|[^A-Za-z0-9_.>])(" letters "|" wide "|" numbers "|" words ")\\("
    formats = "(^|[^A-Za-z0-9_.>])([fsd]|sn|as)?(printf|scanf)\\("
    decimal = "%[-+ #0-9.*']*[lL]?[fFeEgGaA]"
}
FNR == 1 { comment = 0; depth = 0 }
{
    raw = $0
    line = code(raw)
    if (depth == 0 && match(line, forbidden) && !exempt(line))
        print FILENAME ":" FNR ": " raw
    if (depth == 0 && match(line, formats)) {
        at = FNR; first = raw; text = ""; given = 0
        line = substr(line, RSTART + RLENGTH - 1)
    } else if (depth == 0)
        next
    # The call may go over several lines: until its bracket closes.
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth == 0)
            break
    }
    text = text raw
    given = given || index(line, "\"")
    plain = text
    gsub(/%%/, "", plain)
    if (depth == 0 && (!given || match(plain, decimal)))
        print FILENAME ":" at ": " first
}
function exempt(line) {
    if (FILENAME ~ /core\/system\/(c_locale|ascii)\.[ch]$/)
        return 1
    if (FILENAME == "interp/session/repl_line.c")
        return line ~ /(setlocale|newlocale|uselocale)\(/
    return FILENAME == "core/system/loader_search.c" && line ~ /[^a-z]glob\(/
}
# The line without comments, texts and letters in quotes.
function code(s,   from, to, out) {
    gsub(/'(\\.|[^\\'])'/, "0", s)
    gsub(/"(\\.|[^"\\])*"/, "\"\"", s)
    sub(/\/\/.*/, "", s)
    out = ""
    while (s != "") {
        if (comment) {
            to = index(s, "*/")
            if (!to)
                return out
            s = substr(s, to + 2)
            comment = 0
        }
        from = index(s, "/*")
        if (!from)
            return out s
        out = out substr(s, 1, from - 1)
        s = substr(s, from + 2)
        comment = 1
    }
    return out
}
