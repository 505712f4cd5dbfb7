# Completion of ricci's command line for bash: options, subcommands, files, kinds of error, and
# names of operations after `ricci doc`, which the program itself lists.
_ricci_files() {    # ENDING: folders and files that end so
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -d -- "$cur") $(compgen -f -X "!*.$1" -- "$cur"))
}

_ricci() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
        --safe | --strict-devices | --no-notices | -i) ;;
        --limit) i=$((i + 1)) ;;
        *) command=$word; break ;;
        esac
    done
    case $command in
    test)
        case $prev in -k | --keyword | --timeout) return ;; esac
        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '-k --keyword --list --timeout -v --verbose --help' -- "$cur")); else _ricci_files ric; fi ;;
    fmt)
        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '-w --write --check --diff --help' -- "$cur")); else _ricci_files ric; fi ;;
    doctest)
        case $prev in --tolerance | --timeout) return ;; --html) _ricci_files html; return ;; esac
        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '--fix --html --tolerance --timeout --trust -v --verbose --help' -- "$cur")); else _ricci_files md; fi ;;
    jupyter)
        case $prev in --name | --display-name) return ;; --prefix) compopt -o default 2>/dev/null; return ;; run) _ricci_files json; return ;; esac
        COMPREPLY=($(compgen -W 'install uninstall list run --user --sys-prefix --prefix --name --display-name --help' -- "$cur")) ;;
    doc)
        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '--all --help' -- "$cur")); else
            COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" doc operations 2>/dev/null | sed -n 's/^  //p')" -- "$cur")); fi ;;
    --explain)
        COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" --explain 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')" -- "$cur")) ;;
    '')
        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '-e -p -i --explain --calibrate --safe --limit --strict-devices --no-notices --version --help' -- "$cur"))
        else
            _ricci_files ric
            COMPREPLY+=($(compgen -W 'test fmt doc doctest jupyter' -- "$cur"))
        fi ;;
    -e | -p | -V | -h | --version | --help) ;;
    *) compopt -o default 2>/dev/null ;;                  # arguments of the program
    esac
}
complete -F _ricci ricci
