# Every target sets up its own .venv and may be run again at any time.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test lint docs audit fuzz bench clean

demo: $(READY)
	$(BIN)/graphsqueak demo

test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python docs/generate.py

# Known faults of what we depend on; asks a database on the network.
audit: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check 'pip-audit>=2.7'
	$(BIN)/pip-audit --skip-editable

# Broken files for MINUTES, then the differential test at full length.
MINUTES ?= 10
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES)
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -q tests/sources/test_differential.py

bench: .venv/ready-bench
	@for study in benchmarks/bench_*.py; do echo "== $$study"; $(BIN)/python $$study $(ARGS) || exit 1; done

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

.venv/ready-bench: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	touch $@

clean:
	rm -rf .venv build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
