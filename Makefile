# Every target works from a fresh clone: what it needs is installed first, once.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
LOCK := requirements.lock

.DEFAULT_GOAL := help
.PHONY: help install demo test unit nojit fuzz series chaos lint docs bench lock wheel clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

install: .venv/.installed ## fill .venv from the lock (does nothing the second time)

.venv/.installed: $(LOCK) pyproject.toml
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed: make PYTHON=/path/to/python $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(sed -n 's/^\(uv==[0-9.]*\).*/\1/p' $(LOCK))"
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r $(LOCK)
	VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: install ## seed a warehouse, run the example DAG in Airflow, print what was published
	$(BIN)/microagg demo

test: install ## run every test, side by side on all cores
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=

unit: install ## run the quick tests: no server, no browser, no Airflow, no long search
	$(BIN)/python -m pytest -n auto tests/unit -m "not slow and not server and not browser"

fuzz: install ## attack a thousand releases by all that leaves; try 100,000 odd files, 20,000 tables
	MICROAGG_FUZZ=1000 $(BIN)/python -m pytest -n auto --dist load tests/attack tests/fuzz

series: install ## attack a hundred series of each kind by comparing their tables
	MICROAGG_SERIES=100 $(BIN)/python -m pytest tests/attack/test_series.py

chaos: install ## end runs by kills, signals and full disks for an hour (CHAOS_MINUTES=60); keep the table
	CHAOS=long $(BIN)/python -m pytest tests/chaos

nojit: install ## run kernels as plain Python, so that coverage and debuggers see them
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto tests/unit/kernels tests/property \
		--cov=microagg_ops.kernels --cov-config=/dev/null --cov-report=term:skip-covered --cov-fail-under=75

lint: install ## ruff, mypy and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: install ## build the documentation into dist/docs; a warning is an error
	$(BIN)/sphinx-build -EW --keep-going -q --builder html --doctree-dir dist/doctrees docs dist/docs
	@echo "Open dist/docs/index.html."

bench: install ## time, memory and loss of the methods, side by side in one run
	$(BIN)/python -m tests.benchmarks

lock: install ## resolve the dependencies anew
	$(BIN)/uv pip compile pyproject.toml --all-extras \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet -o $(LOCK)

wheel: install ## build the wheel into dist/
	$(BIN)/python -m build --quiet --wheel --no-isolation

clean: ## remove what the other targets made
	rm -rf .venv .demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
