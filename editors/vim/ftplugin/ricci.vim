" Ricci: settings. K shows help on the word under the cursor, :make runs the file, gq formats.
if exists("b:did_ftplugin")
    finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=b:##,b:# formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal suffixesadd=.ric
setlocal keywordprg=ricci\ doc
setlocal makeprg=ricci\ %:S
setlocal errorformat=%Eerror[%*[a-z]]:\ %m,%C\ \ -->\ %f:%l:%c,%-G%.%#
setlocal formatprg=ricci\ fmt\ -
setlocal matchpairs=(:),{:},[:]

let b:undo_ftplugin = "setlocal cms< com< fo< et< sw< sts< sua< kp< mp< efm< fp< mps<"
