# From a fresh Debian machine with Python 3.11 or later: `make demo`, `make test`. Each sets up all
# that it needs. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
# Where pip is offered a wheel for CPUs (`torch==2.13.0+cpu`), it takes that. A pair: torchvision's
# metadata names the one torch that it goes with, so pip replaces neither for the other's sake.
TORCH ?= torch==2.13.0
TORCHVISION ?= torchvision==0.28.0
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 4 ? n : 4)))

# The first that runs (pyenv's stand-ins may not), that mteb takes, and that was built in full.
try := import sys, bz2, ctypes, lzma, sqlite3, ssl; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	if "$$p" -c '$(try)' >/dev/null 2>&1; then command -v "$$p"; break; fi; done)

DEMO_DEBIAN := tesseract-ocr tesseract-ocr-eng
TEST_DEBIAN := $(DEMO_DEBIAN) tesseract-ocr-deu tesseract-ocr-fra tesseract-ocr-rus \
	tesseract-ocr-spa chromium fonts-liberation
BENCH := $(wildcard benchmarks/shared_corpus.py benchmarks/sample_results.py benchmarks/statistics.py)
bin := $(VENV)/bin
# Bytecode is made of what is imported, when it is: torch and transformers hold far more than that.
pip := $(bin)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help demo test test-pylate check format bench clean debian-demo debian-test

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 13

demo: debian-demo $(VENV)/demo.stamp  ## both benchmarks on the embedded sample, offline
	@$(bin)/mteb-nano demo

# A test file's tests share costly fixtures, so they stay in one process.
test: check debian-test  ## format, lint, types, then all tests
	@OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 $(bin)/python -m pytest -n $(JOBS) --dist loadfile

test-pylate: $(VENV)-pylate/pylate.stamp  ## evaluators with PyLate, in an environment of its own
	@OMP_NUM_THREADS=1 $(VENV)-pylate/bin/python -m pytest tests/evaluators/test_evaluators_pylate.py

check: $(VENV)/dev.stamp  ## format, lint, types
	@$(bin)/ruff format --check .
	@$(bin)/ruff check .
	@$(bin)/pyrefly check --python-interpreter-path $(bin)/python

format: $(VENV)/dev.stamp  ## put the code into shape
	@$(bin)/ruff format .
	@$(bin)/ruff check --fix .

bench: $(VENV)/dev.stamp  ## the measurements that need no data of their own
	@for script in $(BENCH); do echo "== $$script"; $(bin)/python "$$script"; done

clean:  ## forget the virtual environment
	rm -rf $(VENV)

debian-demo:
	@.ci/debian-packages $(DEMO_DEBIAN)

debian-test:
	@.ci/debian-packages $(TEST_DEBIAN)

$(VENV)/torch.stamp:
	@[ -n "$(PYTHON)" ] || { echo "found no Python 3.11 to 3.13: make PYTHON=/path/of/one" >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null || .ci/debian-packages python3-venv
	@echo "virtual environment $(VENV): $$("$(PYTHON)" --version), $(TORCH), packages (minutes)"
	@"$(PYTHON)" -m venv $(VENV)
	@$(pip) --upgrade 'pip>=25.1'
	@$(pip) $(TORCH)
	@touch $@

$(VENV)/demo.stamp: $(VENV)/torch.stamp pyproject.toml $(wildcard startup/*)
	@$(pip) --editable '.[demo]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/torch.stamp pyproject.toml $(wildcard startup/* tests/torchvision_shim/*)
	@$(pip) $(TORCHVISION) --editable '.[all,colpali,ray]' --group dev
	@$(bin)/python tests/torchvision_shim/install.py
	@touch $@ $(VENV)/demo.stamp

# The same recipes with another VENV.
$(VENV)-pylate/pylate.stamp: pyproject.toml $(wildcard startup/*)
	@$(MAKE) --no-print-directory VENV=$(VENV)-pylate $(VENV)-pylate/torch.stamp
	@$(VENV)-pylate/bin/python -m pip install --quiet --editable . --group pylate
	@touch $@
