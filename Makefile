# make run | build | test | bench | demo | storm | storm-plots | torture | readme | format | lint | clean;
# PRESET=release|debug|asan|tsan. TEST_ARGS are ctest's: make test TEST_ARGS="-R ^quota".
PRESET ?= release
WERROR ?= OFF
JOBS ?= $(shell nproc)
TEST_JOBS ?= 2
TEST_ARGS ?=

BUILD = build/$(PRESET)

.PHONY: run build test bench demo storm storm-plots torture readme format lint clean deps

# A relay on ws://127.0.0.1:3334 over ./data; WEIR_… settings and RELAY_ARGS change that.
run: build
	@exec $(BUILD)/weir relay $(RELAY_ARGS)

build: $(BUILD)/build.ninja
	@echo "== building $(BUILD)"
	@cmake --build $(BUILD) --parallel $(JOBS)

test: build
	@echo "== testing $(BUILD)"
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(TEST_JOBS) $(TEST_ARGS)

bench: build
	@for program in $(BUILD)/bench/*_bench; do echo "== $$program"; $$program $(BENCH_ARGS) || exit 1; done

# The throttle at work on a real RocksDB: half a minute without it, half a minute with it.
demo: build
	@$(BUILD)/weir demo

# kill -9 while events are saved, and a full disk, for as many rounds as one likes. Not by ctest, whose patience is for a
# few rounds.
TORTURE_ROUNDS ?= 50
torture: build
	@WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) WEIR_DISK_FULL_ROUNDS=$(TORTURE_ROUNDS) \
	  $(BUILD)/tests/store_test --gtest_filter='*Torture*:DiskFull*'
	@WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) $(BUILD)/tests/import_ops_test --gtest_filter='*Torture*'
	@for file in install kill.torture.mjs disk_full.torture.mjs; do \
	  WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) \
	    tests/clients/run $$file $(CURDIR)/$(BUILD)/tests/clients $(CURDIR)/$(BUILD)/weir || \
	    [ $$? -eq 77 ] || exit 1; \
	done

# The README's table of settings, from the program that reads them.
readme: build
	@.ci/readme-settings $(BUILD)/weir README.md

format: deps
	@.ci/install-deps lint
	@.ci/sources | xargs clang-format -i

lint: deps
	@.ci/install-deps lint
	@cmake --preset lint >/dev/null
	@.ci/lint build/lint

# The full experiment takes hours and goes on where it was interrupted; STORM_ARGS=--quick takes a minute.
storm: build
	@$(BUILD)/weir storm --results $(STORM_RESULTS) $(STORM_ARGS)

# The results of storm as SVG files, in $(STORM_RESULTS)/plots.
STORM_RESULTS ?= bench/results/storm
STORM_SETPOINT ?= 0.70
storm-plots:
	@.ci/install-deps plots
	@bench/storm/plots/storm-plots --setpoint $(STORM_SETPOINT) $(STORM_RESULTS)

clean:
	rm -rf build

deps:
	@.ci/install-deps

$(BUILD)/build.ninja: CMakePresets.json | deps
	@echo "== configuring $(BUILD)"
	@cmake --preset $(PRESET) -DWEIR_WERROR=$(WERROR)
	@touch $@
