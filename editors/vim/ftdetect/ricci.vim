" Ricci: which files are its.
au BufRead,BufNewFile *.ric setfiletype ricci
au BufRead * if getline(1) =~# '^#!.*\<ricci\>' | setfiletype ricci | endif
