# Completion of ricci's command line for fish.
set -l commands test fmt doc doctest jupyter
function __ricci_names
    ricci doc operations 2>/dev/null | sed -n 's/^  //p' | string split ' '
end
function __ricci_kinds
    ricci --explain 2>/dev/null | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __ricci_files
    __fish_complete_suffix .$argv[1]
end

complete -c ricci -f
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a test -d 'run the test blocks of files and folders'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a fmt -d 'print files as canonical text'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a doc -d 'help on operations, functions and topics'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a doctest -d 'run the code of Markdown files'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a jupyter -d 'notebooks that run Ricci'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -a '(__ricci_files ric)'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -s e -x -d 'run code'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -s p -x -d 'run code and print its value'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -s i -d 'then a session'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l explain -a '(__ricci_kinds)' -d 'the story of a kind of error'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l safe -d 'for programs of strangers'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l limit -x -a 'memory= seconds= file=' -d 'what a run may take'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l calibrate -d 'measure this machine for the planner'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l strict-devices -d 'every device block is strict'
complete -c ricci -n "not __fish_seen_subcommand_from $commands" -l no-notices -d 'no notices on stderr'
complete -c ricci -s V -l version -d 'the version'
complete -c ricci -s h -l help -d 'help'

complete -c ricci -n '__fish_seen_subcommand_from test fmt' -a '(__ricci_files ric)'
complete -c ricci -n '__fish_seen_subcommand_from test' -s k -l keyword -x -d 'only tests with this word'
complete -c ricci -n '__fish_seen_subcommand_from test' -l list -d 'list the tests'
complete -c ricci -n '__fish_seen_subcommand_from test' -l timeout -x -d 'seconds a test may run'
complete -c ricci -n '__fish_seen_subcommand_from test doctest' -s v -l verbose -d 'name each one'
complete -c ricci -n '__fish_seen_subcommand_from fmt' -s w -l write -d 'rewrite the files'
complete -c ricci -n '__fish_seen_subcommand_from fmt' -l check -d 'name what would change'
complete -c ricci -n '__fish_seen_subcommand_from fmt' -l diff -d 'show what would change'
complete -c ricci -n '__fish_seen_subcommand_from doc' -a '(__ricci_names)'
complete -c ricci -n '__fish_seen_subcommand_from doc' -l all -d 'the whole reference'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -a '(__ricci_files md)'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -l fix -d 'write what came out'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -l html -r -F -d 'write a page'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -l tolerance -x -d 'relative tolerance'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -l timeout -x -d 'seconds a block may run'
complete -c ricci -n '__fish_seen_subcommand_from doctest' -l trust -d 'blocks may do anything'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -a 'install uninstall list run'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -l user -d 'for this user'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -l sys-prefix -d 'in the Python environment'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -l prefix -r -F -d 'in this folder'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -l name -x -d 'name of the kernel'
complete -c ricci -n '__fish_seen_subcommand_from jupyter' -l display-name -x -d 'what Jupyter shows'
