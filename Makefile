# The front door. CMake builds the allocator, cargo the command; every target says what it does.
BUILD   := build
CMAKE   := cmake
# Ninja where it is installed; Make does as well.
GENERATOR := $(if $(shell command -v ninja 2>/dev/null),Ninja,Unix Makefiles)
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
CONFIG  ?= RelWithDebInfo

# On a terminal the tools show how far they are; elsewhere that would be lines.
QUIET   := $(shell [ -t 2 ] || echo --quiet)

# Where other build systems and tests expect them.
OBJECTS := $(BUILD)/lib/graft

.PHONY: all lib objects cli test test-long test-release bench-limits run programs bench report peers dist release crate deb demo-lld clean help

all: lib ## Build build/lib/libloam.so, libloam.a, loam.o and, where there is Rust, build/bin/loam
	@if missing=$$(scripts/missing-rust.sh); then $(MAKE) --no-print-directory cli; \
	else echo "make: the loam command was left out: $$missing"; fi

lib: $(BUILD)/cmake/CMakeCache.txt ## Build the allocator only
	$(CMAKE) --build $(BUILD)/cmake --parallel $(JOBS)

objects: ## Build build/lib/graft/loam-ARCH.o for each processor that a compiler is installed for
	scripts/objects.sh "$(abspath $(OBJECTS))" "$(abspath $(BUILD)/objects)"

$(BUILD)/cmake/CMakeCache.txt: CMakeLists.txt
	$(CMAKE) -S . -B $(BUILD)/cmake -G "$(GENERATOR)" -DCMAKE_BUILD_TYPE=$(CONFIG) \
	  -DLOAM_OPTIMIZE=$(if $(filter Debug,$(CONFIG)),OFF,ON) -DLOAM_TWIN=ON $(if $(QUIET),> /dev/null)
	@touch $@

cli: ## Build the loam command only
	@missing=$$(scripts/missing-rust.sh) || \
	  { echo "make: the loam command cannot be built: $$missing" >&2; exit 1; }
	cargo build --release --locked $(QUIET)
	mkdir -p $(BUILD)/bin
	install -m 755 target/release/loam $(BUILD)/bin/loam

# The library to preload, and of the command the verbs that prove and run: with all of it a first build
# takes minutes. Where the whole command is built already, that one.
RUN_FOLDER := $(BUILD)/run
RUNNER     := $(if $(wildcard $(BUILD)/bin/loam),$(BUILD)/bin/loam,$(RUN_FOLDER)/tests/loam)
run: export LOAM_LIBRARY := $(abspath $(BUILD))/lib/libloam.so
run: $(BUILD)/cmake/CMakeCache.txt ## Prove that CMD='program arguments' gets loam's malloc, and run it
	@$(if $(CMD),,$(error say what to run: make run CMD='program arguments'))
	@missing=$$(scripts/missing-rust.sh) || \
	  { echo "make: the loam command cannot be built: $$missing" >&2; exit 1; }
	@echo "make: building the library" >&2
	@$(CMAKE) --build $(BUILD)/cmake --target loam_shared --parallel $(JOBS) $(if $(QUIET),> /dev/null)
	@$(if $(findstring $(RUN_FOLDER),$(RUNNER)),echo "make: building the command" >&2; \
	  cargo build --profile tests --no-default-features --locked $(QUIET) --target-dir $(RUN_FOLDER), \
	  $(MAKE) --no-print-directory cli)
	$(RUNNER) verify --preloaded -- $(CMD)
	$(RUNNER) run --stats -- $(CMD)

test: ## Install what the tests need and run all of them; TIMES=1: say what each folder costs
	TIMES=$(TIMES) tests/run-all.sh

test-long: ## What `make test` leaves out: the same on more processors and with more tools
	TIMES=$(TIMES) tests/run-all.sh -L long

test-release: ## Make a release twice, and check it for all processors; takes a quarter of an hour
	tests/release/check.py $(BUILD)/test-release

bench-limits: ## Check the limits that `loam bench` compares with: measured, so not a part of the tests
	tests/run-all.sh -L measured

programs: ## Build the benchmark programs into build/bench
	$(CMAKE) -S bench/programs -B $(BUILD)/bench-cmake -G "$(GENERATOR)" \
	  -DLOAM_BENCH_OUTPUT="$(CURDIR)/$(BUILD)/bench" > /dev/null
	$(CMAKE) --build $(BUILD)/bench-cmake --parallel $(JOBS)
	cargo build --release --locked --quiet --package dictionary-rust
	install -m 755 target/release/dictionary-rust $(BUILD)/bench/dictionary-rust

bench: lib cli ## Compare with the other allocators: the quick suite
	$(BUILD)/bin/loam bench suite --quick --json $(BUILD)/bench-quick.json \
	  --html $(BUILD)/bench-quick.html

# The results that README and docs/benchmarks.md are made from: the newest full measurement.
RESULTS ?= $(lastword $(sort $(wildcard bench/results/*-full*.json)))
report: lib cli objects ## Write the documents' samples, README's figures, docs/benchmarks.md and its plots from RESULTS
	$(BUILD)/bin/loam bench report $(RESULTS) --update-docs . > /dev/null
	scripts/samples.py $(BUILD)/bin/loam $(firstword $(RESULTS)) --objects $(OBJECTS)

peers: lib cli ## Fetch and build all that is compared: other allocators and, as root, real programs
	if [ "$$(id -u)" = 0 ]; then apt-get install -y -q --no-install-recommends \
	  $$($(BUILD)/bin/loam bench suite --packages) > /dev/null; fi
	bench/peers.sh
	$(BUILD)/bin/loam bench suite --prepare

traces: cli ## Record ten real programs, those that are installed, and say in docs/trace.md what they are
	scripts/traces.sh $(BUILD)/bin/loam $(BUILD)/traces
	scripts/traces_table.py $(BUILD)/bin/loam $(BUILD)/traces

dist: ## Write dist/loam.c, dist/loam.h and a source tarball
	scripts/dist.py dist

release: ## Write into dist/ what a page of a release carries, for each processor (ARCH=x86_64: that one)
	scripts/release.py dist --build $(BUILD)/release $(addprefix --arch ,$(ARCH))

crate: ## Package the crates loam-malloc and loam into target/package
	scripts/dist.py $(BUILD)/dist
	for folder in bindings/rust cli; do mkdir -p $$folder/vendor && \
	  cp $(BUILD)/dist/loam.c $(BUILD)/dist/loam.h $$folder/vendor/ || exit 1; done
	cargo package --package loam-malloc --package loam --allow-dirty

# A folder of its own: Debian has libraries in other places than `cmake --install`.
deb: cli objects ## Write a Debian package into build/packages
	mkdir -p $(BUILD)/deb/lib/graft $(BUILD)/deb/bin
	install -m 755 $(BUILD)/bin/loam $(BUILD)/deb/bin/loam
	install -m 644 $(OBJECTS)/*.o $(BUILD)/deb/lib/graft
	scripts/share.sh $(BUILD)/deb $(BUILD)/bin/loam
	$(CMAKE) -S . -B $(BUILD)/deb/cmake -G "$(GENERATOR)" -DCMAKE_BUILD_TYPE=$(CONFIG) \
	  -DLOAM_OPTIMIZE=$(if $(filter Debug,$(CONFIG)),OFF,ON) -DCMAKE_INSTALL_PREFIX=/usr
	$(CMAKE) --build $(BUILD)/deb/cmake --parallel $(JOBS)
	rm -rf $(BUILD)/deb/root
	DESTDIR="$(abspath $(BUILD))/deb/root" $(CMAKE) --install $(BUILD)/deb/cmake > /dev/null
	scripts/deb.py $(BUILD)/deb/root $(BUILD)/packages

demo-lld: all ## Link lld with loam and with others, compare what they make and how long they take
	integrations/llvm/demo_lld.py $(BUILD)/demo-lld

clean: ## Remove everything that was built
	rm -rf $(BUILD) dist target

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12
