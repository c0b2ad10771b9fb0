# make run | build | library | install-library | test | overload | bench | demo | storm | storm-plots | storm-versions | torture |
# hostile | histories | fuzz | fresh | deb | release | deploy-test | readme | live-screenshots | format | lint | clean;
# PRESET=release|debug|asan|tsan. BUILD=DIRECTORY builds there. ROOM="store protocol": make test builds and runs the tests of
# those alone. TEST_ARGS are ctest's: make test TEST_ARGS="-R ^quota".
PRESET ?= release
BUILD ?= build/$(PRESET)
JOBS ?= $(shell .ci/jobs)
# Tests mostly wait.
TEST_JOBS ?= $(shell expr $$(.ci/jobs) \* 3)
TEST_ARGS ?=
ROOM ?=

export NINJA_STATUS = [%p, %u steps remain, %es] 

.PHONY: run build library install-library test overload bench demo storm storm-plots storm-versions torture hostile histories fuzz fresh deb release deploy-test readme live-screenshots format lint clean deps

# A relay on ws://127.0.0.1:3334 over ./data; WEIR_… settings and RELAY_ARGS change that. Needs, and builds, the program
# alone; `make test` goes on from there.
run:
	@.ci/install-deps run
	@.ci/configure "$(BUILD)" $(PRESET) OFF
	@echo "== building $(BUILD)/weir"
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target weir
	@exec "$(BUILD)/weir" relay $(RELAY_ARGS)

build: deps
	@.ci/configure "$(BUILD)" $(PRESET) ON
	@echo "== building $(BUILD)"
	@# The compiler crashes on a precompiled header that a cut-off run left broken in ccache: that header is made anew.
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target weir_test_pch || { \
	  rm -f "$(BUILD)"/tests/CMakeFiles/weir_test_pch.dir/*.gch && \
	  CCACHE_RECACHE=1 cmake --build "$(BUILD)" --parallel $(JOBS) --target weir_test_pch; }
	@cmake --build "$(BUILD)" --parallel $(JOBS) $(if $(ROOM),--target $(ROOM:%=%_test))

# The libraries that throttle a RocksDB, alone, for a program that embeds them (throttle/EMBEDDING.md): they need no package but
# RocksDB's. make install-library PREFIX=/opt/weir. Where root installs, ldconfig runs, so that programs find libweir.so.0.
PREFIX ?= /usr/local
library install-library: PRESET = library
library:
	@.ci/install-deps library
	@.ci/configure "$(BUILD)" $(PRESET) OFF
	@echo "== building $(BUILD)"
	@cmake --build "$(BUILD)" --parallel $(JOBS)

install-library: library
	@echo "== installing below $(PREFIX)"
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)" >"$(BUILD)/install.log"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH=$$PATH:/usr/sbin:/sbin ldconfig

test: build
	@echo "== testing $(BUILD)"
	@ctest --test-dir "$(BUILD)" --output-on-failure --parallel $(TEST_JOBS) \
	  $(if $(ROOM),-R '^($(shell echo $(ROOM) | tr ' ' '|'))\.') $(TEST_ARGS)

# A relay on a slow disk under more bulk work than that can take, to be watched at /live; half a minute.
overload:
	@.ci/install-deps run
	@.ci/configure "$(BUILD)" $(PRESET) OFF
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target weir relay_load
	@bench/overload "$(BUILD)"

# All of them, in about ten minutes; BENCH_ARGS are those of the small ones. relay_load, import_bench and quota_bench also
# compare with others: bench/README.md.
bench: build
	@bench/run-all "$(BUILD)" $(BENCH_ARGS)

# The throttle at work on a real RocksDB: half a minute without it, half a minute with it.
demo: build
	@"$(BUILD)"/weir-bench demo

# kill -9 while events are saved, and a full disk, for as many rounds as one likes. Not by ctest, whose patience is for a
# few rounds.
TORTURE_ROUNDS ?= 50
torture: build
	@WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) WEIR_DISK_FULL_ROUNDS=$(TORTURE_ROUNDS) \
	  "$(BUILD)/tests/store_test" --gtest_filter='*Torture*:DiskFull*'
	@WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) "$(BUILD)/tests/import_ops_test" --gtest_filter='*Torture*'
	@for file in install kill.torture.mjs disk_full.torture.mjs; do \
	  WEIR_TORTURE_ROUNDS=$(TORTURE_ROUNDS) \
	    tests/clients/run $$file "$$(realpath "$(BUILD)")/tests/clients" "$$(realpath "$(BUILD)")/weir" || \
	    [ $$? -eq 77 ] || exit 1; \
	done

# Attacks on a relay of its own, on loopback, for half an hour; HOSTILE_ARGS="--only deletion" for one of them.
hostile: build
	@"$(BUILD)/tests/hostile" "$(BUILD)/weir" $(HOSTILE_ARGS)

# Clients of one relay on a RocksDB, then of three on a PostgreSQL, with NOTIFY and then with a Redis as their bus, while these
# are killed, stopped and cut off, for so long each: tests/histories/README.md.
HISTORIES_SECONDS ?= 1800
histories: build
	@for stage in "--store rocksdb" "--bus notify" "--bus redis"; do \
	  "$(BUILD)/tests/histories" "$(BUILD)/weir" $$stage --seconds $(HISTORIES_SECONDS) $(HISTORIES_ARGS) || \
	    [ $$? -eq 77 ] || exit 1; \
	done

# libFuzzer on each target of tests/fuzz, or FUZZ="event filter" on some, for so long each: tests/fuzz/README.md.
FUZZ ?=
FUZZ_SECONDS ?= 60
fuzz: PRESET = fuzz
fuzz: deps
	@.ci/configure "$(BUILD)" $(PRESET) OFF
	@echo "== building $(BUILD)"
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target $(or $(FUZZ:%=fuzz_%),fuzz_test)
	@tests/fuzz/fuzz "$(BUILD)" $(FUZZ_SECONDS) $(FUZZ)

# The README's commands on systems that have nothing yet: FRESH="trixie noble" for some of them.
fresh:
	@tests/fresh/fresh $(FRESH)

# build/release/weir_*.deb
deb:
	@.ci/install-deps package
	@.ci/configure "$(BUILD)" $(PRESET) OFF
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target weir
	@cpack --config "$(BUILD)/CPackConfig.cmake" -G DEB -B "$(BUILD)"
	@rm -rf "$(BUILD)/_CPack_Packages"

# build/release-VERSION: a Debian package for each system that `make fresh` has tried, a tarball that runs on all of them, its
# SBOM, and checksums.
release:
	@deploy/release

# The Debian package in a Debian that has nothing else, and the image where a Docker answers. Minutes; the short ones are in
# make test.
deploy-test: build
	@for test in "package_test.sh $(BUILD) fresh" image_test.sh; do \
	  tests/deploy/$$test || [ $$? -eq 77 ] || exit 1; \
	done

# The table of settings in config/SETTINGS.md, from the program that reads them.
readme: build
	@.ci/readme-settings "$(BUILD)/weir" config/SETTINGS.md

# The pictures of /live for its README, by its tests, of a relay that was under load for three minutes.
live-screenshots: build
	@.ci/install-deps browser
	@tests/clients/run install "$(abspath $(BUILD))/tests/clients"
	@WEIR_LIVE_SECONDS=180 tests/clients/run live.test.mjs "$$(realpath "$(BUILD)")/tests/clients" "$$(realpath "$(BUILD)")/weir"
	@tests/clients/run moderation.test.mjs "$$(realpath "$(BUILD)")/tests/clients" "$$(realpath "$(BUILD)")/weir"
	@mkdir -p relay/watch/live/screenshots && cp "$(BUILD)"/tests/clients/screenshots/*.png relay/watch/live/screenshots

format: deps
	@.ci/install-deps lint
	@.ci/sources | xargs clang-format -i

lint: deps
	@.ci/install-deps lint
	@[ -e build/newest/packages ] || .ci/newest-headers build/newest
	@cmake --preset lint >/dev/null
	@cmake --build build/lint --target protos >/dev/null
	@.ci/lint build/lint

# The full experiment takes hours and goes on where it was interrupted; STORM_ARGS=--quick takes a minute.
storm: build
	@.ci/install-deps plots
	@"$(BUILD)"/weir-bench storm --results $(STORM_RESULTS) $(STORM_ARGS)

# The results of storm as SVG files, in $(STORM_RESULTS)/plots.
STORM_RESULTS ?= bench/results/storm
STORM_SETPOINT ?= 0.70
storm-plots:
	@.ci/install-deps plots
	@bench/storm/plots/storm-plots --setpoint $(STORM_SETPOINT) $(STORM_RESULTS)

# The storm's burst on the RocksDB of each of the systems of `make fresh`, in one table: FRESH="trixie" for some of them.
# STORM_ARGS=--build only builds.
storm-versions:
	@bench/storm/storm-versions $(STORM_ARGS) $(FRESH)

clean:
	rm -rf build

deps:
	@.ci/install-deps $(if $(filter asan tsan fuzz,$(PRESET)),sanitizers)
