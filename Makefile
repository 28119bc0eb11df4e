# Needs only Python 3.11+ and make. Everything is installed into .venv, and only when pyproject.toml changed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs bench regression report index papers-smoke clean

help:
	@echo "make demo    install into $(VENV) and run a small real experiment"
	@echo "make test    style checks and all tests"
	@echo "make lint    style checks only"
	@echo "make docs    build the site from docs/ into build/docs; every example in it is run"
	@echo "make bench   compare the engine with LIBSVM and its peers (long)"
	@echo "make regression   run configs/smoke.yaml and compare it with results/baseline/"
	@echo "make paper-aesvm  every table and figure of a paper (or -randsvm, -frank-wolfe, -lp-svr, -bootstrap);"
	@echo "                  SCALE=smoke, small (default) or full"
	@echo "make report       a page for every run at that scale, a text for every config of it"
	@echo "make index        results/index.html: all papers at a glance, from the texts in results/"
	@echo "make papers-smoke every experiment of every paper at its smallest scale"
	@echo "make clean   remove $(VENV) and everything generated"
	@echo "Another Python: make demo PYTHON=python3.12"

demo: $(VENV)/.demo
	@echo "== demo: configs/demo.yaml, eight methods on two data sets"
	@$(BIN)/svmreduce demo

# Its hundreds of short processes need not compile the package anew each time; the tests of a module stay together.
test: $(VENV)/.dev lint
	@echo "== tests"
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.dev
	@echo "== style: ruff check, ruff format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

# Every page is read anew, so that every example is run; a warning is an error.
docs: $(VENV)/.docs
	@echo "== documentation: running every example (a few minutes)"
	@$(BIN)/python -m sphinx -b html -E -W --keep-going -q -d build/doctrees docs build/docs
	@echo "== build/docs/index.html"

bench: $(VENV)/.bench
	@$(BIN)/python -m tests.bench

# Counters and accuracies must be those of the baseline; times are only compared as ratios inside one run.
regression: $(VENV)/.demo
	@rm -rf results/runs/regression
	@$(BIN)/svmreduce run configs/smoke.yaml -o results/runs/regression --quiet
	@$(BIN)/svmreduce compare results/baseline/smoke.jsonl results/runs/regression

# One experiment after the other, each resumed where an earlier run stopped; a failed row does not stop the next.
SCALE ?= small
paper-%: $(VENV)/.demo
	@$(MAKE) --no-print-directory experiments FILES="$(wildcard configs/$(subst -,_,$*)/*.yaml)"

# What the runs show, in results/SCALE: a text per config that was run, and a page and a table per run, named as its config.
report: $(VENV)/.demo
	@mkdir -p results/$(SCALE)
	@for file in configs/*/*.yaml; do \
	  run=$$(sed -n 's/^name: *\([^ ]*\).*/\1/p' $$file); \
	  test -d results/runs/$$run-$(SCALE) || continue; \
	  name=$$(echo $$file | sed 's,configs/,,; s,/,-,; s,_,-,g; s,.yaml$$,,'); page=results/$(SCALE)/$$name; \
	  echo "== $$page"; more=""; \
	  test $$name != $$(echo $$run | tr _ -) || more="--html $$page.html -o $$page.csv"; \
	  $(BIN)/svmreduce report $$file --scale $(SCALE) -o $$page.md $$more || exit 1; done

index: $(VENV)/.demo
	@$(BIN)/python -m svmreduce.reports.run.all_papers results configs > results/index.html.new
	@mv results/index.html.new results/index.html

papers-smoke: $(VENV)/.demo
	@$(MAKE) --no-print-directory experiments FILES="$(wildcard configs/*/*.yaml)" SCALE=smoke

experiments:
	@test -n "$(FILES)" || { echo "no such paper; see configs/" >&2; exit 2; }
	@failed=""; for file in $(FILES); do echo "== $$file, $(SCALE)"; \
	  $(BIN)/svmreduce run "$$file" --scale $(SCALE) || failed="$$failed $$file"; done; \
	if [ -n "$$failed" ]; then echo "with failed rows:$$failed" >&2; exit 3; fi

clean:
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find svmreduce tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "== clean"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@echo "== environment: $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 2; }

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	@echo "== installing svmreduce and what it needs (a minute or two, once)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@echo "== installing svmreduce, pytest and ruff (a minute or two, once)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	@echo "== installing svmreduce and Sphinx (a minute or two, once)"
	@$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	@echo "== installing svmreduce and its peers (some minutes, once)"
	@$(PIP) -e '.[bench]'
	@touch $@ $(VENV)/.demo
