# mbdae: `make demo` sets up what it needs and runs the main job, `make test` sets up every solver there is and passes the tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOLVERS ?= all
READY := $(VENV)/.solvers-$(SOLVERS)

# each start of Python takes seconds longer where its packages are not kept as bytecode
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-thorough test-processor lint setup-all bench bench-peers profile papers docs wheel clean help

help:
	@echo "make demo            set up .venv and compare integrators and solvers on the Andrews squeezer"
	@echo "make setup-all       install every foreign solver too: Assimulo, solve-dae, and with a compiler scikits.odes, pyradau13"
	@echo "                     SOLVERS=wheels: those that need no compiler; so do the targets below"
	@echo "make test            setup-all, check the style, run the tests"
	@echo "make test-thorough   run the tests of all library mechanisms and methods, papers, restarts and SymPy, too"
	@echo "make test-processor  run the tests that rounding can break with code for another processor"
	@echo "make bench           run the benchmarks and print their ratios"
	@echo "make bench-peers     the same mechanisms in Exudyn, MuJoCo, Pinocchio and solve-dae: writes docs/benchmarks.md"
	@echo "make profile         the fastest methods over the library, in-house against established: writes docs/profile.md (hours)"
	@echo "make papers          redo the tables and figures of the papers and write the paper book, docs/papers"
	@echo "make wheel           build the wheel that runs everywhere, and one with compiled code for this system and Python"
	@echo "make docs            build the documentation site into build/site"
	@echo "make clean           remove .venv, results and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "mbdae needs Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv && $(PYTHON) -m venv $(VENV); \
	  else echo "Python's venv module is missing: sudo apt-get install python3-venv"; exit 1; fi; }

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "Installing mbdae and what it needs into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# installs mbdae as well
$(READY): pyproject.toml solvers/setup_all.py $(wildcard adapters/pyradau13/*.* adapters/pyradau13/tree/*) | $(BIN)/python
	@$(BIN)/python solvers/setup_all.py $(SOLVERS)
	@touch $(STAMP) $@

setup-all: $(READY)

demo: $(STAMP)
	@$(BIN)/mbdae compare andrews --output results/demo

# mypy finds modules by their folders, and mbdae.adapters lies in adapters/: it gets a folder of links in which all lie where they are imported
TYPES := build/types
lint: $(STAMP)
	$(BIN)/ruff check mbdae adapters solvers packaging tests examples docs/tools
	@rm -rf $(TYPES) && mkdir -p $(TYPES)/mbdae
	@ln -s $(CURDIR)/mbdae/* $(CURDIR)/adapters $(TYPES)/mbdae
	cd $(TYPES) && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml

test: setup-all
	@$(MAKE) --no-print-directory lint
	MBDAE_REQUIRE_SOLVERS=$(SOLVERS) $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not thorough"

test-thorough: setup-all
	MBDAE_REQUIRE_SOLVERS=$(SOLVERS) $(BIN)/python -m pytest -n 2 --dist loadfile -m "thorough and not slow"

# on x86 with code for any 64-bit processor: other orders of additions, no fused multiplications
test-processor: setup-all
	NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Prescott MBDAE_REQUIRE_SOLVERS=$(SOLVERS) $(BIN)/python -m pytest -n 2 -m "rounding and not slow"

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks.run

# Exudyn, MuJoCo and Pinocchio get an environment of their own
bench-peers: $(READY)
	$(BIN)/python -m tests.benchmarks.peers

# some hours; goes on after an interrupt
profile: $(READY)
	$(BIN)/mbdae compare --all --output results/profile
	cp results/profile/profile.md results/profile/profile.png docs/

papers: $(STAMP)
	$(BIN)/python examples/papers/make_book.py

# pictures of the gallery first: only those whose scripts have changed are made again
DOCS := $(VENV)/.docs
$(DOCS): pyproject.toml | $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(DOCS)
	$(BIN)/python docs/tools/gallery.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

wheel: $(BIN)/python
	$(BIN)/python packaging/wheel.py

clean:
	rm -rf $(VENV) results build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
