# `make check` and `make test` need only a Python (>= 3.11, with venv): each makes the virtual
# environment first, and again when the packaging or the constraints change.
.DELETE_ON_ERROR:
.PHONY: help venv check test nightly lint site clean

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# with rlregress_studies and rlregress_power, which no user needs to judge frameworks
ALL := $(VENV)/.installed-all

# PYTHON=/path/to/python overrides the search. The order prefers the version that the baselines
# were recorded with.
PYTHON ?= python3.11 python3.12 python3.13 python3

# Extra arguments of `rlregress check`, for example: make check ARGS="--cells all"
ARGS ?=

# One more than the cores of CI: for a third of the time a test waits for processes that it started.
JOBS ?= 3
# A second thread per process slows small networks down (see docs/running.md).
export OMP_NUM_THREADS := 1
# The tests start hundreds of processes: the suite's modules are compiled once, not in each of them.
unexport PYTHONDONTWRITEBYTECODE

# Neighbouring tests go to one process, which shares what it has asked and trained.
TESTS = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
	tests_unit tests_behavior tools/tests tools/rlregress_studies/tests tools/rlregress_power/tests \
	tests_performance --budget smoke
TEST_COMMAND = $(TESTS) -m "not nightly"

help:
	@echo "make check  judge the installed frameworks: formulas, behaviour, returns"
	@echo "make test   the test suite, trainings with the smoke budget"
	@echo "make nightly  make test, and the tests that take long; goes on where it was stopped"
	@echo "make lint   ruff, mypy and the import rules of the house"
	@echo "make site   the documentation as a site, in build/site"
	@echo "make venv   only make the virtual environment ($(VENV))"
	@echo "make clean  remove the virtual environment and caches"
	@echo
	@echo "PYTHON=<interpreter>  VENV=<folder>  JOBS=<processes>  ARGS=<arguments of check>"

check: $(INSTALLED)
	$(BIN)/rlregress check $(ARGS)

test: $(ALL)
	$(TEST_COMMAND)

nightly: $(ALL)
	$(TESTS) -p tools.stopped_run

lint: $(ALL)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Not --quiet, which hides warnings from --strict. The variable silences a note: Material for MkDocs
# is maintained until May 2027, and Zensical follows it.
site: $(ALL)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict \
	  --config-file tools/website/mkdocs.yml
	@echo "read it: $(BIN)/python -m http.server -d build/site -b 127.0.0.1"

venv: $(ALL)

PYPROJECTS := pyproject.toml tools/rlregress_studies/pyproject.toml tools/rlregress_power/pyproject.toml
# In one command with the core, whose name no index knows.
$(INSTALLED): PACKAGES := -e '.[dev]'
$(ALL): PACKAGES := -e '.[dev]' -e tools/rlregress_studies -e tools/rlregress_power

$(INSTALLED) $(ALL): $(PYPROJECTS) constraints.txt
	@python=; \
	for candidate in $(PYTHON); do \
	  if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      >/dev/null 2>&1; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "No Python >= 3.11 with the venv module among: $(PYTHON);" \
	    "install one, or name it: make PYTHON=/path/to/python" >&2; \
	  exit 2; \
	fi; \
	echo "making $(VENV) with $$($$python --version)"; \
	$$python -m venv $(VENV)
# Python compiles what is imported when it is: a third of the time is saved.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  -c constraints.txt $(PACKAGES)
# Scripts that are read and asked, never imported as a package: their own dependencies are of 2020.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps cleanrl==0.4.8
# Once, for processes of a test run start together: each would compile the same 3 000 modules.
	$(BIN)/python -c 'from tests_performance import warm; warm.import_shared_modules()'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
