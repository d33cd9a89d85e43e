# Everything a newcomer runs. `make` alone lists it.
PORT ?= 8000
SANDBOX_PORT ?= 8001
VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough; PYTHON=… overrides.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# What pytest and Python have compiled is kept for the next run, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-dev run test check format mutants bench lock

help: ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## Set up: a virtual environment with the locked requirements

install-dev: $(VENV)/.installed-dev

run: install ## Run the service and the sandbox on this machine
	@$(BIN)/python -m sandbox.run --port $(PORT) --sandbox-port $(SANDBOX_PORT)

test: install-dev ## Run every test; PostgreSQL, Redis and the browser are the run's own
	@$(BIN)/python -m pytest -n 3 --dist loadfile

check: install-dev ## Format, lint, types, layers, house rules, migrations, deploy check
	@$(BIN)/python -m tests.house.check

format: install-dev ## Format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

mutants: install-dev ## Take out every defence, one at a time, and see its test fail (half an hour)
	@$(BIN)/python -m tests.house.mutants -j 2

bench: install-dev ## Run the benchmarks, each printing ratios
	@$(BIN)/python -m bench

lock: install-dev ## Write requirements*.txt anew from requirements*.in
	@$(BIN)/python -m tests.house.lock

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; say PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	@echo "Installing the locked requirements …"
	@$(BIN)/pip install --disable-pip-version-check --require-hashes --progress-bar off -q -r requirements.txt
	@$(BIN)/python -c "import pathlib, site; pathlib.Path(site.getsitepackages()[0], 'elicit_flows.pth').write_text('$(CURDIR)')"
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing what the tests and checks need …"
	@$(BIN)/pip install --disable-pip-version-check --require-hashes --progress-bar off -q -r requirements-dev.txt
	@touch $@
