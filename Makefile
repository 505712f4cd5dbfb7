# Ricci. `make help` lists the targets. Everything generated goes to build/.
#   make                 builds build/ricci          make MODE=asan   builds build/asan/ricci
#   make tour            installs what is missing, builds, runs examples/tour.ric
#   make check           the same, then the tests (minutes); make check-deep: those that take longer
MODE  ?= release
BUILD ?= $(if $(filter release,$(MODE)),build,build/$(MODE))
CC    ?= cc
FLEX  ?= flex
BISON ?= bison
PREFIX ?= /usr/local
VERSION = 0.1.0
JOBS  := $(shell nproc 2>/dev/null || echo 2)

WARN   = -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wmissing-prototypes -Wstrict-prototypes \
         -Wpointer-arith -Wwrite-strings -Wvla -Wno-missing-field-initializers
CSTD   = -std=gnu11 -D_GNU_SOURCE -I. -I$(BUILD)/gen -ffp-contract=off -fno-strict-aliasing -fvisibility=hidden -fPIC
# Invariants are asserted in every other build.
OPT.release = -O2 -g1 -DNDEBUG
OPT.debug   = -Og -g3
# Both at once: neither finds what the other does, and what is run under one is run under both.
OPT.asan    = -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-maybe-uninitialized -Wno-conversion -DRICCI_PLAIN_MALLOC
OPT.tsan    = -O1 -g1 -fsanitize=thread -Wno-maybe-uninitialized -Wno-tsan -DRICCI_PLAIN_MALLOC
OPT.hostile = -O1 -g1 -Wno-maybe-uninitialized -DRICCI_HOSTILE -DRICCI_PLAIN_MALLOC
CFLAGS ?=
CSTD += -DRICCI_VERSION='"$(VERSION)"'
ALLFLAGS = $(CSTD) $(WARN) $(OPT.$(MODE)) $(CFLAGS)
# Where undefined behaviour is found in a kernel, it stops there, and the address sanitizer says where (handle_sigill): what
# of hundreds of loops could be said in words is 70 MB that every process would relocate, and twice the time to compile them.
KERNEL_OPT = $(if $(filter release,$(MODE)),-O3)$(if $(filter asan,$(MODE)),-fsanitize-undefined-trap-on-error)
LIB_LIBS = -lffi -lm -ldl -lpthread
LDLIBS  = -lreadline $(LIB_LIBS)
LDFLAGS += $(filter -fsanitize=%,$(OPT.$(MODE))) -rdynamic $(if $(filter asan,$(MODE)),-no-pie)

# WITHOUT=native: no calls of C, and no libricci, which hands C functions and memory through them.
# WITHOUT=jit: no machine code of hot loops.
WITHOUT ?=
WITHOUT.native = interp/native/% interp/embed/% builtins/system/native.c
WITHOUT.jit = interp/hot/% kernels/machine/%
$(if $(filter-out native jit,$(WITHOUT)),$(error WITHOUT=$(WITHOUT): what can be left out is native and jit))
CSTD += $(if $(filter native,$(WITHOUT)),-DRICCI_WITHOUT_NATIVE) $(if $(filter jit,$(WITHOUT)),-DRICCI_WITHOUT_JIT)
SOURCES := $(filter-out $(foreach w,$(WITHOUT),$(WITHOUT.$(w))),$(wildcard $(foreach d,core lexer parser kernels builtins interp,$(d)/*.c $(d)/*/*.c)))
# readline (GPL) belongs to the program, not to the library.
MAIN     = $(wildcard interp/program/*.c interp/session/*.c interp/jupyter/*.c)
GEN_C    = $(BUILD)/gen/grammar.c $(BUILD)/gen/lexer.c $(BUILD)/gen/stdlib.c
LIB_OBJ  = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(MAIN),$(SOURCES))) \
           $(patsubst $(BUILD)/gen/%.c,$(BUILD)/obj/gen/%.o,$(GEN_C))
MAIN_OBJ = $(MAIN:%.c=$(BUILD)/obj/%.o)
UNITS    = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*.c))

.PHONY: all tour check check-deep check-gpu bless manual bench fuzz soak help clean units install deps python wheel stubs
all: $(BUILD)/ricci

$(BUILD)/ricci: $(MAIN_OBJ) $(BUILD)/libricci.a
	$(CC) $(ALLFLAGS) -o $@ $(MAIN_OBJ) -Wl,--whole-archive $(BUILD)/libricci.a -Wl,--no-whole-archive $(LDFLAGS) $(LDLIBS)

$(BUILD)/libricci.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

# Of libricci.so.0 only the names of ricci.h are seen.
$(BUILD)/libricci.so.0: $(LIB_OBJ) interp/embed/libricci.map
	$(CC) $(ALLFLAGS) -shared -Wl,-soname,libricci.so.0 -Wl,--version-script=interp/embed/libricci.map -o $@ $(LIB_OBJ) \
	    $(filter -fsanitize=%,$(OPT.$(MODE))) $(LIB_LIBS)

# The module ricci of Python: the extension with libricci inside, beside the files of python/ricci and the program.
PYTHON ?= python3
PY_EXT = $(BUILD)/python/ricci/_ricci.abi3.so
PY_FILES = $(patsubst python/ricci/%,$(BUILD)/python/ricci/%,$(wildcard python/ricci/*.py)) $(BUILD)/python/ricci/bin/ricci
$(BUILD)/python/obj/%.o: python/ext/%.c python/ext/ext.h interp/embed/ricci.h
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -Wno-cast-function-type -Wno-write-strings -isystem $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])') -c -o $@ $<
$(PY_EXT): $(patsubst python/ext/%.c,$(BUILD)/python/obj/%.o,$(wildcard python/ext/*.c)) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -shared -s -Wl,--version-script=python/ext/ext.map -o $@ $^ $(filter -fsanitize=%,$(OPT.$(MODE))) $(LIB_LIBS)
$(BUILD)/python/ricci/%.py: python/ricci/%.py
	@mkdir -p $(@D)
	@cp $< $@
# The program for the wheel opens readline (GPL) when it starts, instead of being linked with it.
$(BUILD)/python/prompt/names.h: python/prompt/names.sh $(MAIN_OBJ)
	@mkdir -p $(@D)
	@sh python/prompt/names.sh $(CC) $(MAIN_OBJ) > $@
$(BUILD)/python/obj/readline.o: python/prompt/readline.c $(BUILD)/python/prompt/names.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -I$(BUILD)/python/prompt -c -o $@ $<
$(BUILD)/python/ricci/bin/ricci: $(MAIN_OBJ) $(BUILD)/python/obj/readline.o $(BUILD)/libricci.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -s -o $@ $(MAIN_OBJ) $(BUILD)/python/obj/readline.o -Wl,--whole-archive $(BUILD)/libricci.a -Wl,--no-whole-archive $(LDFLAGS) $(LIB_LIBS)
python: $(PY_EXT) $(PY_FILES)
# For machines without a compiler; python/backend.py makes the archive.
wheel: python
	@$(PYTHON) python/backend.py $(BUILD)

$(BUILD)/obj/kernels/%.o: OPTIMISE = $(KERNEL_OPT)
# The loops that only machines without AVX2 run: -O3 takes two to four times as long to compile them.
$(BUILD)/obj/kernels/%_base.o: OPTIMISE = $(if $(filter release,$(MODE)),-O2 -ftree-vectorize,$(KERNEL_OPT))
# Loops of which there are hundreds: what else -O3 does doubles the time to compile them, for nothing.
MANY_LOOPS = $(if $(filter release,$(MODE)),-O2 -ftree-vectorize -fvect-cost-model=dynamic -fpeel-loops,$(KERNEL_OPT))
$(foreach f,nest_stage_avx2 nest_stage_avx512 reduce_avx2 reduce_avx512 ew_avx2 cast norms contract_pair_plain \
    semiring_plain,$(BUILD)/obj/kernels/%/$(f).o): OPTIMISE = $(MANY_LOOPS)
$(BUILD)/obj/kernels/%_avx2.o: ISA = -mavx2 -mfma -mf16c
$(BUILD)/obj/kernels/%_avx512.o: ISA = -mavx2 -mfma -mf16c -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512

# An object is as its flags are: those stand here.
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(OPT.$(MODE)) $(CFLAGS) -w -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) $(OPTIMISE) $(ISA) -MMD -MP -c -o $@ $<

$(BUILD)/gen/grammar.c $(BUILD)/gen/grammar.h &: parser/grammar.y
	@mkdir -p $(@D)
	$(BISON) -Werror -o $(BUILD)/gen/grammar.c --defines=$(BUILD)/gen/grammar.h $<
$(BUILD)/gen/lexer.c: lexer/lexer.l $(BUILD)/gen/grammar.h
	@mkdir -p $(@D)
	$(FLEX) -o $@ $<
RICCI_CODE = $(sort $(wildcard stdlib/*.ric)) $(wildcard builtins/gradients/*.ric builtins/written/*.ric)
$(BUILD)/gen/stdlib.c: $(RICCI_CODE) stdlib/embed.sh
	@mkdir -p $(@D)
	sh stdlib/embed.sh $(RICCI_CODE) > $@

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libricci.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -MMD -MP -o $@ $< $(BUILD)/libricci.a $(LDFLAGS) $(LDLIBS)
# A CUDA machine made of the host: see tests/stub/stub.h. It is never linked, but found by name.
STUBS = $(BUILD)/stub/libcuda.so.1 $(BUILD)/stub/libnvrtc.so.12 $(BUILD)/stub/libcublas.so.12 $(BUILD)/stub/libcusolver.so.11
STUB = $(CC) -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -Wall -Wextra -fPIC -shared -fvisibility=hidden
$(BUILD)/stub/libcuda.so.1: tests/stub/cuda.c tests/stub/stub.h
	@mkdir -p $(@D)
	$(STUB) -Wl,-soname,$(@F) -o $@ $< -ldl
$(BUILD)/stub/lib%: $(BUILD)/stub/libcuda.so.1 tests/stub/stub.h
	$(STUB) -Wl,-soname,$(@F) -o $@ tests/stub/$(firstword $(subst ., ,$*)).c $< -lm -ldl
$(filter-out %/libcuda.so.1,$(STUBS)): $(wildcard tests/stub/*.c)
$(BUILD)/unit/cuda: | $(STUBS)
stubs: $(STUBS)
# A library that rounds the other way: its names are the table's, in all four types.
$(BUILD)/stub/rounding/libopenblas.so.0: tests/stub/rounding.c kernels/blas/blas.def
	@mkdir -p $(@D)
	sed -nE 's/^(ROUTINE|LAPACK)\([a-z0-9_]+, *("(\w+)"|NULL), *("(\w+)"|NULL).*/s\3 d\3 c\5 z\5/p' kernels/blas/blas.def | tr ' ' '\n' | \
	    sed -nE 's/^(..+)$$/X(\1_)/p; $$a X(openblas_set_num_threads)' > $(@D)/names.h
	$(STUB) -I$(@D) -Wl,-soname,rounding.so -o $@ $< -ldl
# What is right is worked out by GMP itself there.
$(BUILD)/unit/arith%: LDLIBS += -lgmp
# And by MPFR.
$(BUILD)/unit/ulp $(BUILD)/unit/ulp_complex: LDLIBS += -lmpfr -lgmp
# Vectors wider than the flags allow, on purpose.
$(BUILD)/unit/arith_binary: private CFLAGS += -Wno-psabi
units: $(UNITS)
# The example of a C program around the library: it is run under the sanitizers.
$(BUILD)/embed: examples/embed.c interp/embed/ricci.h $(BUILD)/libricci.a
	$(CC) $(ALLFLAGS) -Iinterp/embed -o $@ $< $(BUILD)/libricci.a $(LDFLAGS) $(LDLIBS)
# Random calls of interp/embed/ricci.h, for `make fuzz`.
$(BUILD)/fuzz/%: tests/fuzz/%.c interp/embed/ricci.h $(BUILD)/libricci.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -Wno-conversion -o $@ $< $(BUILD)/libricci.a $(LDFLAGS) $(LDLIBS)
# The C side of tests/native: found by its name, through LD_LIBRARY_PATH.
$(BUILD)/native/libriccitest.so: $(wildcard tests/native/*.c)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-psabi -fPIC -shared -Wl,-soname,$(@F) -o $@ $^ -lm -lpthread
# Every row on every device, and the table that docs/devices.md is.
$(BUILD)/devices/matrix: tests/devices/matrix.c tests/devices/math.c $(wildcard tests/devices/*.def) $(BUILD)/libricci.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -MMD -MP -o $@ $(filter %.c,$^) -Wl,--whole-archive $(BUILD)/libricci.a -Wl,--no-whole-archive $(LDFLAGS) $(LDLIBS)

# ---- what a newcomer types ----
tour:
	@.ci/deps build
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@build/ricci examples/tour.ric

check:
	@.ci/deps check
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@BUILD=build RICCI=$(CURDIR)/build/ricci MAKE=$(MAKE) bash tests/run.sh

# What takes longer than a user waits, after it: other builds, processors, seeds (tests/suites_deep.sh).
check-deep:
	@.ci/deps check
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@BUILD=build RICCI=$(CURDIR)/build/ricci MAKE=$(MAKE) bash tests/run.sh deep

# What needs an NVIDIA GPU; without one, what of it can be tested all the same, and what was not run.
check-gpu: all $(STUBS) $(addprefix $(BUILD)/unit/,cuda gpu_nest gpu_text) $(BUILD)/devices/matrix
	@BUILD=$(BUILD) RICCI=$(CURDIR)/$(BUILD)/ricci bash tests/gpu.sh

# Rewrites the golden outputs; read the diff before committing it.
bless: all
	@BLESS=1 bash tests/run.sh golden

# The reference of all operations, from their rows, and the word lists of the editors.
manual: all $(BUILD)/devices/matrix
	$(BUILD)/ricci doc --all > docs/library.md
	python3 editors/words.py $(BUILD)/ricci --write
	$(BUILD)/devices/matrix --table 2>/dev/null > docs/devices.md

bench: all $(BUILD)/bench/linalg $(BUILD)/bench/sparse_solve
	@bash bench/run.sh

$(BUILD)/bench/%: bench/%.c $(BUILD)/libricci.a
	@mkdir -p $(@D)
	$(CC) $(ALLFLAGS) -MMD -MP -o $@ $< -Wl,--whole-archive $(BUILD)/libricci.a -Wl,--no-whole-archive $(LDFLAGS) $(LDLIBS)

# Random programs, files, C declarations and calls of the C API under the address sanitizer.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 1
fuzz:
	@$(MAKE) --no-print-directory -s -j$(JOBS) MODE=asan BUILD=build/asan all
	@$(MAKE) --no-print-directory -s MODE=asan BUILD=build/asan build/asan/fuzz/api
	@RICCI=$(CURDIR)/build/asan/ricci python3 tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
	@ASAN_OPTIONS=detect_leaks=1:exitcode=99:handle_sigill=1 python3 tests/tools/sweep.py build/asan/ricci
	@RICCI=$(CURDIR)/build/asan/ricci python3 tests/fuzz/shapes.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
	@ASAN_OPTIONS=exitcode=99:handle_sigill=1:allocator_may_return_null=1:max_allocation_size_mb=1500 OPENBLAS_NUM_THREADS=1 \
	    LSAN_OPTIONS=print_suppressions=0:suppressions=$(CURDIR)/tests/tools/lsan.supp \
	    build/asan/fuzz/api --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
SOAK_CASES ?= 100000
SOAK_TIMES ?= 20
soak: all $(STUBS) $(BUILD)/devices/matrix $(addprefix $(BUILD)/unit/,arith_truth arith_truth_numbers opencl cuda gpu_nest gpu_text)
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/repl/interrupts.py
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/oracle/oracle.py --cases $(SOAK_CASES) --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/oracle/gradients.py --cases $(SOAK_CASES) --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/oracle/distributions.py --cases 1000000 --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/oracle/attention.py --cases $(SOAK_CASES) --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci $(or $(wildcard build/venv/bin/python3),python3) tests/gradients/peers.py --cases 3000 --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/precision/precision.py --cases $(SOAK_CASES) --seed $${SEED:-$$(date +%s)}
	@RICCI=$(CURDIR)/$(BUILD)/ricci python3 tests/precision/order.py --cases 2000 --seed $${SEED:-$$(date +%s)}
	@$(BUILD)/ricci bench/methods_special_ulps.ric 100000
	@RICCI=$(CURDIR)/$(BUILD)/ricci $(or $(wildcard build/venv/bin/python3),python3) tests/oracle/special_mpmath.py --seed $${SEED:-$$(date +%s)}
	@$(BUILD)/devices/matrix --full opencl opencl+math 2>/dev/null
	@$(BUILD)/devices/matrix --run=tests/devices/attention.ric opencl:0+items 2>/dev/null
	@BUILD=$(BUILD) RICCI=$(CURDIR)/$(BUILD)/ricci QUICK=1 bash tests/gpu.sh
	@$(BUILD)/devices/matrix --full --run=tests/devices/lapack.ric opencl+math 2>/dev/null
	@RICCI_SOAK=$(SOAK_TIMES) $(BUILD)/unit/arith_truth
	@RICCI_SOAK=$(SOAK_TIMES) $(BUILD)/unit/arith_truth_numbers
	@RICCI_SOAK=$(SOAK_TIMES) $(BUILD)/unit/gpu_nest
	@RICCI_SOAK=$(SOAK_TIMES) $(BUILD)/unit/opencl

install: all $(BUILD)/libricci.so.0
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
	           $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	           $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d \
	           $(DESTDIR)$(PREFIX)/share/ricci
	install -m 755 $(BUILD)/ricci $(DESTDIR)$(PREFIX)/bin/ricci
	install -m 644 $(BUILD)/libricci.a $(DESTDIR)$(PREFIX)/lib/libricci.a
	install -m 755 $(BUILD)/libricci.so.0 $(DESTDIR)$(PREFIX)/lib/libricci.so.0
	install -m 644 interp/embed/ricci.h $(DESTDIR)$(PREFIX)/include/ricci.h
	install -m 644 docs/ricci.1 $(DESTDIR)$(PREFIX)/share/man/man1/ricci.1
	install -m 644 editors/completions/ricci.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ricci
	install -m 644 editors/completions/_ricci $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ricci
	install -m 644 editors/completions/ricci.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ricci.fish
	cp -R editors/vim editors/vscode $(DESTDIR)$(PREFIX)/share/ricci/
	printf 'prefix=%s\nName: ricci\nDescription: a small language for tensor mathematics\nVersion: %s\nCflags: -I$${prefix}/include\nLibs: -L$${prefix}/lib -lricci -lffi -lm -ldl -lpthread\n' \
	    '$(PREFIX)' '$(VERSION)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/ricci.pc

help:
	@echo 'make                 builds build/ricci'
	@echo 'make tour            installs what is missing, builds, and walks through the language on real data'
	@echo 'make check           installs what is missing, builds, and runs the tests'
	@echo 'make check-deep      what takes longer: sanitizers, other processors, failing allocations, races, fresh seeds'
	@echo 'make check-gpu       the device suite and the benchmarks on an NVIDIA GPU; without one, what can be tested of it'
	@echo 'make bench           compares with the peers that are installed, side by side'
	@echo 'make fuzz            feeds random input to the sanitizer build for FUZZ_SECONDS=60'
	@echo 'make soak            interrupts a busy session 200 times; index notation and precision scopes against their oracles, SOAK_CASES=100000'
	@echo 'make bless           rewrites the golden outputs of the tests'
	@echo 'make manual          rewrites docs/library.md, docs/devices.md and the word lists in editors/ from the registry'
	@echo 'make python          builds the module of Python in build/python (pip install . does it too); make wheel writes a wheel'
	@echo 'make install         PREFIX=$(PREFIX) DESTDIR='
	@echo 'make MODE=debug|asan|tsan|hostile   builds build/MODE/ricci'
	@echo 'make WITHOUT=native BUILD=build/without   leaves out calls of C, and libricci with them'
	@echo 'make WITHOUT=jit BUILD=build/without      leaves out machine code of hot loops'
	@echo 'make clean           removes build/'

clean:
	rm -rf build

$(filter $(BUILD)/obj/parser/% $(BUILD)/obj/lexer/%,$(LIB_OBJ)): | $(BUILD)/gen/grammar.h

-include $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNITS:=.d)
