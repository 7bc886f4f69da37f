# The front door. CMake does the building; each target here is a line or two that a person would type otherwise.
#
#   make build      build/hone and build/libhone.*
#   make demo       from nothing to a fine-tuned model: packages, build, a small model, training, before and after
#   make test       everything that is checked on each change
#   make test-long  the same and what takes longer
#   make bench      times every operator
#   make fuzz       FUZZ_SECONDS for each reader of foreign bytes (clang-19)
#   make install PREFIX=/usr/local
#   make deps       installs the packages that are missing (Debian)
#   make model      the small model that demo and tests use
#   make format     clang-format-19 over all sources
#   make clean
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30

CTEST = ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: build demo test test-long bench fuzz install deps test-deps model format clean
.DEFAULT_GOAL := build

build: deps
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(CMAKE_FLAGS)
	@cmake --build $(BUILD) -j $(JOBS)

demo: build model
	@BUILD=$(BUILD) sh tools/demo.sh

test: test-deps build model
	@$(CTEST) -LE long

test-long: test-deps build model
	@$(CTEST)

bench: build
	@$(BUILD)/opcheck --bench $(BENCH_FLAGS)

fuzz:
	@sh tools/deps.sh --fuzz
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS) sh tools/fuzz.sh

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

deps:
	@sh tools/deps.sh

test-deps:
	@sh tools/deps.sh --test

model: deps
	@sh tools/fetch_model.sh

format:
	@find include src cli tests examples -name '*.[ch]' | xargs clang-format-19 -i

clean:
	@rm -rf $(BUILD)
