# make run | build | test | bench | storm | storm-plots | readme | format | lint | clean; PRESET=release|debug|asan|tsan.
PRESET ?= release
WERROR ?= OFF
JOBS ?= $(shell nproc)
TEST_JOBS ?= 2

BUILD = build/$(PRESET)

.PHONY: run build test bench storm storm-plots readme format lint clean deps

run: build
	$(BUILD)/weir demo

build: $(BUILD)/build.ninja
	@echo "== building $(BUILD)"
	@cmake --build $(BUILD) --parallel $(JOBS)

test: build
	@echo "== testing $(BUILD)"
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(TEST_JOBS)

bench: build
	@for program in $(BUILD)/bench/*_bench; do echo "== $$program"; $$program $(BENCH_ARGS) || exit 1; done

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
