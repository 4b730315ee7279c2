# Targets create .venv if it does not exist. They can be run repeatedly.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test check lint docs test-oldest audit fuzz bench clean

demo: $(READY)
	$(BIN)/graphsqueak demo --force

test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2

# Checks before a commit, in about a minute: style, and the fast tests of changed files.
check: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n 2 -m "not slow" $$($(BIN)/python .ci/changed_tests.py)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

# Write the generated pages, then build the site in build/site. Needs no network.
docs: .venv/ready-docs
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/site/build.py

# Fast tests with the lowest version of every dependency that pyproject.toml allows. Warnings about
# later deprecations in these versions are ignored.
OLDEST := .venv-oldest
test-oldest: $(OLDEST)/ready
	OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba \
	$(OLDEST)/bin/pytest -q -n 2 -m "not slow" -W ignore::DeprecationWarning -W ignore::ImportWarning \
	graphsqueak tests --ignore tests/test_house.py --ignore tests/test_package.py

$(OLDEST)/ready: pyproject.toml
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python \
	--resolution lowest-direct --editable '.[test]'
	touch $@

# Known vulnerabilities of the dependencies. Needs the network.
audit: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check 'pip-audit>=2.7'
	$(BIN)/pip-audit --skip-editable

# Damaged files for MINUTES, then the differential test with more examples.
MINUTES ?= 10
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES)
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -q tests/sources/files/test_differential.py

# Compare with other libraries, in under ten minutes; ARGS=--full for all sizes. Real data sets are
# read from the folder $$GRAPHSQUEAK_DATA; those that are absent are left out.
bench: .venv/ready-bench
	mkdir -p build
	$(BIN)/python -m benchmarks run --out build/benchmarks.json $(ARGS)

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

.venv/ready-docs: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,docs]'
	touch $@

.venv/ready-bench: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	touch $@

clean:
	rm -rf .venv .venv-oldest build dist
	find . -name __pycache__ -prune -exec rm -rf {} +
