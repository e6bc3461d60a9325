# Everything a newcomer or a contributor runs. Each target makes the environment it needs.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help demo test lint types cover wheel check docs bench clean

# The first interpreter that is new enough; `make demo PYTHON=python3.12` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# Tests open hundreds of stores, each of which waits for the disk; memory does not.
TEST_TMP ?= $(shell test -w /dev/shm && echo /dev/shm || echo $${TMPDIR:-/tmp})
BENCH ?= all
DATA ?= data
DOCS_TOOL := pdoc>=15,<17
# What a user of the library reads; the rooms behind the facade are read in the source.
DOCS_MODULES := $(addprefix hindsight_core., hindsight options models trajectory steps settings \
	errors namespaces clock retrieval.profiles runs.readers verbs.reading store.base \
	embedding.base reflection.base testing) hindsight_langchain hindsight_llamaindex
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
PIP := $(BIN)/python -m pip install -qq
PYTEST_ARGS := -n $(WORKERS) -q

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.installed ## Watch an agent learn from a failed tool call (no key, no network)
	@$(BIN)/hindsight demo

test: $(VENV)/.installed-dev ## Run the tests
	@TMPDIR=$(TEST_TMP) $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## Check format and style
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(VENV)/.installed-dev ## Check types
	@$(BIN)/mypy

cover: $(VENV)/.installed-dev ## Run the tests with branch coverage; what fails gets a second try, alone
	@mkdir -p build && rm -f build/failed && $(BIN)/coverage erase
	@set -o pipefail; TMPDIR=$(TEST_TMP) $(BIN)/coverage run -m pytest $(PYTEST_ARGS) 2>&1 | tee build/pytest.log || touch build/failed
	@$(BIN)/coverage combine -q && $(BIN)/coverage report
	@sed -n '/short test summary info/,$$p' build/pytest.log | grep . || tail -n 1 build/pytest.log
	@if [ -e build/failed ]; then echo "Once more, one at a time, what failed:"; \
	TMPDIR=$(TEST_TMP) $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none; fi

wheel: $(VENV)/.installed-dev ## Build the wheel and import it where nothing else is installed
	@rm -rf build/wheel build/clean && mkdir -p build
	@$(BIN)/python -m build --wheel --outdir build/wheel . >build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@$(PYTHON) -m venv build/clean
	@build/clean/bin/python -m pip install -qq build/wheel/*.whl
	@cd build && clean/bin/python -W error -c 'import hindsight_core; hindsight_core.Hindsight'
	@build/clean/bin/hindsight --version

check: ## What continuous integration runs: lint, types, wheel, tests with coverage
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory wheel
	@$(MAKE) --no-print-directory cover

docs: $(VENV)/.installed-docs ## Build the API reference from the docstrings into build/docs
	@rm -rf build/docs
	@PYTHONWARNINGS=ignore $(BIN)/pdoc --docformat google -o build/docs $(DOCS_MODULES)
	@test -f build/docs/hindsight_core/hindsight.html && echo "build/docs/index.html"

bench: $(VENV)/.installed-dev ## Run the benchmarks: make bench BENCH=locomo DATA=folder
	@$(BIN)/python -m benchmarks $(BENCH) --data $(DATA)

clean: ## Remove what these targets made
	@rm -rf $(VENV) build dist .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Hindsight needs Python 3.11 or newer; none was found on the path."; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing Hindsight (a minute at first, nothing after that)"
	@$(PIP) -e ".[offline]"
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing Hindsight, both frameworks and the tools for development"
	@$(PIP) -e ".[all,dev]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	@$(PIP) "$(DOCS_TOOL)"
	@touch $@
