# make demo: see the effect.  make test: lint, types, tests.  Each makes its own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# Two test processes; one BLAS thread in each, so that they do not fight over the cores.
PYTEST  = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: demo test test-all lint bench clean

demo: $(VENV)/.installed
	$(BIN)/prism demo

test: $(VENV)/.installed-dev lint
	$(PYTEST) -m "not slow"

# Everything, also what takes minutes.
test-all: $(VENV)/.installed-dev lint
	$(PYTEST)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PRISM needs Python 3.11 or newer; say which one to use: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
