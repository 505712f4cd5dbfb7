# The suites of `make check`, sourced by tests/run.sh: what a user runs, minutes on two cores, with the
# release build alone. A suite is one function here, suite_NAME, and its word in the list CHECK of
# tests/run.sh. It calls pass, fail or count for what it tried. What wants a sanitizer, another
# instruction set or more time than a user has is in tests/suites_deep.sh.

# The lint; the order of rooms, of the objects that were built; benchmarks that nothing else builds.
suite_lint() {
    script lint tests/tools/lint.sh
    script rooms tests/tools/rooms.py
    build "$BUILD/bench/linalg" && pass
}
suite_golden() { golden "$RICCI" golden; }
suite_unit() {
    build units || return
    shared units_part "$BUILD/unit" ""
}
suite_native() { native "$RICCI" native; }
suite_cli() {
    script cli tests/cli.sh
    script tools tests/tools.sh
    script editors tests/editors.py
}
documents() {       # ARGUMENT OF doctest…
    timeout 300 "$RICCI" doctest --tolerance 1e-12 "$@" </dev/null >"$work/log" 2>&1
    count docs "$work/log" $?
    grep -aA12 '^FAIL' "$work/log" | head -60
}
suite_docs() {
    documents README.md $(ls docs/*.md | grep -v '^docs/language.md$')
    documents --trust docs/language.md                        # it calls C
    "$RICCI" doc --all >"$work/manual" 2>&1
    if diff -u docs/library.md "$work/manual" >"$work/diff"; then pass; else
        fail "docs/library.md is not what the registry says: make manual" "$work/diff"; fi
}
suite_examples() { shared examples_part; }
# One that wants a library this machine lacks says so in its first line; of MPI that starts nothing
# here (Open MPI without /sys) its error does.
examples_part() {
    local file status
    for file in $(ls examples/*/*.ric examples/*.ric); do
        case " ${LEAVE:-} " in *" $file "*) continue ;; esac
        take "$file" || continue
        observe "$RICCI" "$file" "$work/observed"
        if head -1 "$work/observed" | grep -q "^not run: there is no library"; then
            echo "not run: $file: $(head -1 "$work/observed" | cut -d' ' -f3-)"
        elif grep -q '^error\[device\]: mpi.* could not be started: ' "$work/observed"; then
            echo "not run: $file: $(sed -n 's/^error.*could not be started/mpi could not be started/p' "$work/observed" | cut -c1-120)"
        elif [ -f "${file%.ric}.out" ]; then
            as_written example "$file"
        elif [ -s "$work/observed" ] && ! grep -q '^--- exit' "$work/observed"; then
            pass
        else
            fail "$file" "$work/observed"
        fi
        if grep -q '^test "' "$file"; then counted "test $file" "$RICCI" test "$file"; fi
    done
}
suite_stdlib() {
    local file
    for file in stdlib/*.ric; do counted "test $file" "$RICCI" test --timeout 60 "$file"; done
}
# What `make install` puts where, and a C program that uses the library.
suite_install() {
    local root=$work/root file
    if ! $MAKE --no-print-directory -s install DESTDIR="$root" PREFIX=/usr >"$work/log" 2>&1; then fail "make install" "$work/log"; return; fi
    for file in bin/ricci lib/libricci.a include/ricci.h lib/pkgconfig/ricci.pc share/man/man1/ricci.1 share/bash-completion/completions/ricci \
                share/zsh/site-functions/_ricci share/fish/vendor_completions.d/ricci.fish share/ricci/vim/syntax/ricci.vim; do
        if [ -s "$root/usr/$file" ]; then pass; else fail "make install left out $file"; fi
    done
    local libs
    libs=$(sed -n 's/^Libs: -L[^ ]* //p' "$root/usr/lib/pkgconfig/ricci.pc")
    ${CC:-cc} -o "$work/embed" examples/embed.c -I"$root/usr/include" -L"$root/usr/lib" $libs >"$work/log" 2>&1 || { fail "embed.c does not build" "$work/log"; return; }
    "$work/embed" >"$work/log" 2>&1
    if diff -u examples/embed.out "$work/log" >"$work/diff"; then pass; else fail "embed.c" "$work/diff"; fi
    if ${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c "$root/usr/include/ricci.h" >"$work/log" 2>&1; then pass; else fail "ricci.h as C99" "$work/log"; fi
    command -v "${CXX:-c++}" >/dev/null || { echo "not run: ricci.h as C++: no compiler"; return; }
    if ${CXX:-c++} -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ "$root/usr/include/ricci.h" >"$work/log" 2>&1; then pass; else fail "ricci.h as C++" "$work/log"; fi
}
# Scaled residuals of every linear algebra routine × dtype × size × layout.
# The module of Python, where there is one of 3.11 with headers; what needs NumPy, PyTorch and JAX with
# those of the peers' environment.
suite_python() {
    local python=$PWD/build/venv/bin/python3 peers
    [ -x "$python" ] || python=python3
    if ! "$python" -c 'import os, sys, sysconfig; sys.exit(sys.version_info < (3, 11) or
            not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null; then
        echo "not run: tests/python: no Python 3.11 with its headers (python3-dev)"
        return
    fi
    if ! $MAKE --no-print-directory -s python stubs PYTHON="$python" >"$work/log" 2>&1; then fail "make python" "$work/log"; return; fi
    PYTHONPATH=$PWD/$BUILD/python counted python "$python" tests/python/run.py
    python_installed "$python"
}
# pip install without a network, and the wheel: into an environment of its own.
python_installed() {   # PYTHON
    if ! "$1" -m venv "$work/venv" >"$work/log" 2>&1; then echo "not run: pip install: python3 -m venv does not work here"; return; fi
    if "$work/venv/bin/pip" install -q --no-index --disable-pip-version-check . >"$work/log" 2>&1 &&
        [ "$(cd "$work" && venv/bin/python -c 'import ricci; print(ricci.eval("1 + 1"))')" = 2 ] &&
        [ "$("$work/venv/bin/ricci" -p '1 + 1')" = 2 ]; then pass; else fail "pip install ." "$work/log"; fi
    if $MAKE --no-print-directory -s wheel PYTHON="$1" >"$work/log" 2>&1 && [ -s "$BUILD"/ricci-*-cp311-abi3-*.whl ]; then pass; else fail "make wheel" "$work/log"; fi
}
# The kernel of notebooks, over its sockets; it says what it could not run without libzmq.
suite_jupyter() {
    script jupyter tests/jupyter/run.py
    script notebooks tests/jupyter/notebooks.py
}
suite_residual() { shared residual_part; }
residual_part() {
    local file
    for file in $(ls -S tests/residual/*.ric); do
        take "$file" || continue
        (cd tests/residual && timeout 300 "$RICCI" "$(basename "$file")") </dev/null >"$work/log" 2>"$work/notices"
        local status=$?
        grep -a '^error' "$work/notices" >>"$work/log"
        count "$file" "$work/log" $status
    done
}
# Every row on every device, in parts; and the table of it that the docs show.
suite_devices() {
    $MAKE --no-print-directory -s "$BUILD/devices/matrix" >"$work/log" 2>&1 || { fail "tests/devices does not build" "$work/log"; return; }
    shared devices_part
    "$BUILD/devices/matrix" --table >"$work/table" 2>/dev/null
    if diff -u docs/devices.md "$work/table" >"$work/diff"; then pass; else
        fail "docs/devices.md is not what the devices do: make manual" "$work/diff"; fi
}
devices_part() {    # PART PARTS
    plain_kernels timeout 300 "$BUILD/devices/matrix" --part="$1/$2" sim.mps sim.tpu opencl+math cuda </dev/null >"$work/log" 2>/dev/null
    local status=$?
    grep -a '^FAIL' "$work/log" | head -20
    count "devices" "$work/log" $status
    if [ "$1" = 0 ]; then
        plain_kernels timeout 300 "$RICCI" tests/devices/lapack.ric cpu sim.tpu sim.mps opencl cuda </dev/null >"$work/log" 2>&1
        count "devices/lapack.ric" "$work/log" $?
        plain_kernels timeout 300 "$RICCI" tests/devices/attention.ric brief sim.mps opencl cuda </dev/null >"$work/log" 2>&1
        count "devices/attention.ric" "$work/log" $?
        plain_kernels timeout 300 "$RICCI" tests/devices/sparse.ric opencl cuda </dev/null >"$work/log" 2>&1
        count "devices/sparse.ric" "$work/log" $?
    else
        plain_kernels timeout 300 "$BUILD/devices/matrix" --run=tests/devices/lapack.ric opencl:0+math </dev/null >"$work/log" 2>&1
        status=$?
        grep -aq '^not run' "$work/log" || count "devices/lapack.ric, opencl with a LAPACK" "$work/log" $status
    fi
}
# Groups of processes: what takes seconds; mpi_deep has all. `not run: …` where MPI is missing.
suite_mpi() { script mpi tests/mpi/life.sh brief; }
# What errors offer works when it is pasted, and the stories of --explain are true.
suite_errors() {
    LIMIT=600 script fixes tests/tools/fixes.py "$RICCI"
    script kinds tests/tools/kinds.py "$RICCI"
}
suite_repl() { script repl tests/repl/run.py; }
# Random index notation against plain loops, random gradients against differences: a fixed sample; check-deep
# and `make soak` run many more. Every row's derivative in both modes, and every rule without a tape.
suite_oracle() {
    oracle "" 1 3000
    gradients "" 1 1000
    script "gradients of the registry" tests/gradients/registry.py
    script "rules of gradients" tests/gradients/check_rules.py
    script attention tests/oracle/attention.py
}
# Random programs in precision scopes against exact fractions, bit for bit: a fixed sample.
suite_precision() { precision "" 1 2000 120; }
# Programs in German and Turkish processes: a sample of the golden ones. Names that would steer a terminal.
suite_locale() { script locale tests/locale.sh; script plain tests/plain.sh; }
# Programs that try to get out of --safe, and files that were made to harm.
suite_attack() { script attack tests/attack/run.py; }
# What `save` and `write` leave behind when a disk is full or the process is killed; little memory.
suite_crash() { script "files" tests/files.py; script limits tests/limits.py; }
# A million small things in one program, at sizes that take a moment.
# Golden programs of a few folders inside a lazy block; all of them are suite_lazy of `deep`.
suite_lazy_quick() { script lazy tests/lazy/run.sh quick; }
suite_scale() { script scale tests/scale.py; }
