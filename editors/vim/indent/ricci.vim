" Ricci: indentation. A line stands four further in for each bracket that is open at its start;
" one that begins with closing brackets stands where their line does.
if exists("b:did_indent")
    finish
endif
let b:did_indent = 1
setlocal autoindent indentexpr=RicciIndent(v:lnum) indentkeys=0{,0},0),0],!^F,o,O,e
let b:undo_indent = "setlocal ai< inde< indk<"

if exists("*RicciIndent")
    finish
endif

" The line without its strings and comment.
function s:Code(lnum)
    let l:text = substitute(getline(a:lnum), '"\%(\\.\|[^"\\]\)*"\|`[^`]*`', '', 'g')
    return substitute(l:text, '#.*$', '', '')
endfunction

function RicciIndent(lnum)
    let l:above = prevnonblank(a:lnum - 1)
    if l:above == 0
        return 0
    endif
    let l:depth = 0
    let l:opened = 0
    for l:c in split(s:Code(l:above), '\zs')
        if l:c =~# '[([{]'
            let l:depth += 1
        elseif l:c =~# '[)\]}]'
            let l:depth -= 1
            let l:opened = min([l:opened, l:depth])
        endif
    endfor
    " Brackets that closed what an earlier line opened have taken their line back already, where
    " they stand first in it.
    let l:first = len(matchstr(s:Code(l:above), '^\s*\zs[)\]}]*'))
    let l:change = l:depth - l:opened > 0 ? 1 : 0
    if l:opened + l:first < 0
        let l:change -= 1
    endif
    if s:Code(a:lnum) =~# '^\s*[)\]}]'
        let l:change -= 1
    endif
    return max([0, indent(l:above) + l:change * shiftwidth()])
endfunction
