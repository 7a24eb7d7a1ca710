# make demo: see the effect.  make test: lint, types, tests.  Each makes its own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# Two test processes, since more browsers at once than cores make tests of the page fail; one BLAS thread
# in each. tests/conftest.py puts the long files first.
PYTEST  = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all coverage fuzz lint docs dist clean

demo: $(VENV)/.installed
	$(BIN)/prism demo

test: $(VENV)/.installed-dev lint
	$(PYTEST) -m "not slow"

# Everything, also what takes minutes.
test-all: $(VENV)/.installed-dev lint
	$(PYTEST)

# The share of the lines of src that the fast tests run.
coverage: $(VENV)/.installed-dev
	$(PYTEST) -m "not slow" --cov=prism_audio --cov-report=term:skip-covered

# Look for inputs that break a reader, for so many seconds; what is found is kept in tests/fuzz/corpus.
SECONDS ?= 300
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.fuzz.run --seconds $(SECONDS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The documentation site, in build/site; a broken link or reference is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the documentation is in build/site/index.html"

# What is released: sdist, wheel, their hashes, and a list of what the wheel needs (CycloneDX), with the
# version that pyproject.toml takes from the package.
dist: $(VENV)/.installed-release
	rm -rf dist build/release
	$(BIN)/python -m build -q
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install -q dist/*.whl
	version=$$(build/release/bin/python -c 'import prism_audio; print(prism_audio.__version__)') && \
	  sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/release/pyproject.toml
	$(BIN)/cyclonedx-py environment build/release --pyproject build/release/pyproject.toml --of JSON -o dist/sbom.cdx.json
	cd dist && sha256sum * > SHA256SUMS

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PRISM needs Python 3.11 or newer; say which one to use: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[$*]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
