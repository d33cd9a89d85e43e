# Everything a newcomer runs. `make` alone lists it.
PORT ?= 8000
SANDBOX_PORT ?= 8001
# How many processes share the tests.
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough; PYTHON=… overrides. A distribution's own is compiled with a profile and takes a sixth less
# time than one that pyenv compiled.
PYTHON ?= $(shell for p in /usr/bin/python3 python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# What pytest and Python have compiled is kept for the next run, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-dev run test test-all test-failed test-pythons check format mutants findings chaos bench costs docs hops lock messages release screenshots

help: ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## Set up: a virtual environment with the locked requirements

install-dev: $(VENV)/.installed-dev

run: install ## Run the service and the sandbox on this machine
	@$(BIN)/python -m sandbox.run --port $(PORT) --sandbox-port $(SANDBOX_PORT)

test: install-dev ## Run the tests; PostgreSQL, Redis and the browser are the run's own
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow"

test-all: install-dev ## Run the slow tests too: sweeps, random histories, crash points, both shapes of everything
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-failed: install-dev ## Run again, one after the other, the tests that failed in the last run
	@$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

test-pythons: install-dev ## Run the SDK's tests, from its wheel, on every Python of this machine
	@EVERY_PYTHON=1 $(BIN)/python -m pytest -rs tests/release/test_pythons.py

check: install-dev ## Format, lint, types, layers, house rules, migrations, deploy check
	@$(BIN)/python -m tests.house.check

format: install-dev ## Format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

mutants: install-dev ## Take out every defence, one at a time, and see its test fail (half an hour)
	@$(BIN)/python -m tests.house.mutants -j 2

hops: install-dev ## Count the files and functions that five journeys pass through, and write the table of the docs
	@HOPS=$(or $(HOPS),write) $(BIN)/python -m pytest -q -s -p no:xdist tests/house/test_hops.py

costs: install-dev ## Count what the operations that run all the time cost, and write the table
	@COSTS=write $(BIN)/python -m pytest -q -s -p no:xdist tests/house/test_costs.py

findings: install-dev ## See the tests of what the reviews of bb257c4 found fail on that commit (needs the history)
	@$(BIN)/python -m tests.house.findings $(ARGS)

chaos: install-dev ## Run 500 flows in the full shape under 200 faults (ARGS="--flows 50 --faults 20 --seed x")
	@$(BIN)/python -m tests.chaos $(ARGS)

bench: install-dev ## Run the benchmarks, each printing ratios
	@$(BIN)/python -m bench

docs: install-dev ## Build the documentation as a site, and say where it is
	@$(BIN)/python -m docs.generate

messages: install-dev ## Write the catalogues of every language anew, and compile them (ARGS=--check looks alone)
	@$(BIN)/python -m scripts.messages $(ARGS)

screenshots: install-dev ## Write the pictures of the docs anew, from the gallery
	@$(BIN)/python -m scripts.screenshots

lock: install-dev ## Write requirements*.txt anew from requirements*.in
	@$(BIN)/python -m tests.house.lock

release: install-dev ## Build the tagged version into dist/ (ARGS=--no-image where there is no docker)
	@$(BIN)/python -m scripts.release $(ARGS)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; say PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) …"
	@$(PYTHON) -m venv $(VENV)

# uv takes a tenth of pip's time. Where it does not reach an index, pip may, by its own configuration.
PIP_INSTALL = $(BIN)/pip install --disable-pip-version-check --require-hashes --progress-bar off -q -r
define INSTALL
@awk '/^uv==/ {found = 1} found {print} found && !/\\$$/ {exit}' requirements-dev.txt > $(VENV)/uv.txt
@$(PIP_INSTALL) $(VENV)/uv.txt
@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r $(1) || $(PIP_INSTALL) $(1)
endef

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	@echo "Installing the locked requirements …"
	$(call INSTALL,requirements.txt)
	@$(BIN)/python -c "import pathlib, site; pathlib.Path(site.getsitepackages()[0], 'elicit_flows.pth').write_text('$(CURDIR)')"
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing what the tests and checks need …"
	$(call INSTALL,requirements-dev.txt)
	@touch $@
