# `make up` and `make test` work on a bare machine with python3 >= 3.11, python3-venv and make.
.DEFAULT_GOAL := help
.PHONY: help install lock generate up test test-quick test-unit test-contract test-integration test-e2e test-system test-compose test-nightly test-training test-pythons mutants docs lint audit format train pictures editor clean

# Not sh: of `pip | sed` the status must be that of pip.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# What requirements/NAME.txt locks is installed once $(VENV)/.NAME is there. `test` has all of `run`, `system` all of `test`.
RUN := $(VENV)/.run
TEST := $(VENV)/.test
SYSTEM := $(VENV)/.system
DOCS := $(VENV)/.docs
TOOLS := .venv-tools
# One lock for every Python and platform that we support.
LOCK := $(TOOLS)/bin/uv --quiet pip compile pyproject.toml --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
  --no-annotate --extra dashboard --extra tools
# Tests wait for processes that start or die more than half of their time: four keep two cores at work.
TEST_PROCESSES ?= 4
PYTEST := $(BIN)/python -m pytest -q
# A file stays in one process, in which its systems start once; those with many processes come last.
PYTEST_PARALLEL := $(PYTEST) -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
SLOW := bench batch_invariance linear_text memory_of_requests capacity_simulated
OLDEST_RQ := 2.12.0
MUTMUT := $(VENV)/mutmut-3.8.1
RQ_TESTS := $(addprefix tests/integration/test_,rq_compatibility.py foreign_workers.py async_queue.py)
# Tests start hundreds of processes, and each would compile our packages anew.
unexport PYTHONDONTWRITEBYTECODE
UP_OPTIONS ?=
TRAIN_OPTIONS ?=
# The training has an environment of its own: PyTorch for it alone.
TRAINING_VENV ?= .venv-training
TRAINING_BIN := $(TRAINING_VENV)/bin
TRAINING_STAMP := $(TRAINING_VENV)/.installed

define TRAIN_USAGE
make train needs sentences to learn from:
  make train TRAIN_OPTIONS="sentences.tsv.gz more.tsv.gz --out runs/train"
Each line of a file is a tagged sentence: docs/training/sources.md says how.
All options: $(TRAINING_BIN)/miniserve-training train --help    How the shipped model was trained: docs/model-card.md
endef
export TRAIN_USAGE

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(RUN) ## make .venv with the project in it, and nothing that only tests need

$(VENV)/.%: requirements/%.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "miniserve needs python3 >= 3.11; found: $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "installing $$(grep -c '^[a-z]' $<) packages into $(VENV), which takes about a minute:"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "no virtual environment could be made; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check install --no-deps --require-hashes --requirement $< | \
	  sed -unE 's,^(Collecting|Processing) ([^ ]*/)?([^ ;]+).*,  \3,p; s/^Installing.*/unpacking them .../p'
	@PYTHONWARNINGS=ignore $(PIP) install --no-deps --editable .
	@touch $(VENV)/.run $(if $(filter test system,$*),$(TEST)) $@

lock: $(TOOLS)/bin/uv ## requirements/ anew, with the newest releases that pyproject.toml allows: once a week, then make test test-system
	@$(LOCK) --output-file requirements/run.txt
	@$(LOCK) --extra otel --extra plots --group test --constraints requirements/run.txt --output-file requirements/test.txt
	@$(LOCK) --extra otel --extra plots --group test --group system --constraints requirements/test.txt --output-file requirements/system.txt
	@$(LOCK) --group docs --constraints requirements/system.txt --output-file requirements/docs.txt

$(TOOLS)/bin/%:
	@test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip --quiet --disable-pip-version-check install $*

generate: $(TEST) ## rules for Prometheus, KEDA's objects and tables of the documents, from the code
	@$(BIN)/python -m tests.generate

up: $(RUN) ## start Redis, one worker and one API replica in the foreground (UP_OPTIONS="--port 8080 --workers 2")
	@exec $(BIN)/miniserve up --die-with-parent $(UP_OPTIONS)

test: lint ## lint, and all tests but the drills and the training's
	@$(PYTEST_PARALLEL)

test-quick: lint ## lint, the unit tests without the slowest, the queue's contract: a minute, to run while you work
	@$(PYTEST_PARALLEL) tests/unit tests/contract $(SLOW:%=--ignore tests/unit/test_%.py)

test-unit test-contract test-integration test-e2e: test-%: $(TEST) ## one ring of tests
	@$(PYTEST_PARALLEL) tests/$*

test-system: $(SYSTEM) ## the drills in short form, a real browser, and Docker Compose where a Docker daemon answers
	@./ops/deploy/system_tools.sh
	@test -d $(VENV)/rq-$(OLDEST_RQ) || $(PIP) install --no-deps --target $(VENV)/rq-$(OLDEST_RQ) rq==$(OLDEST_RQ)
	@# All that needs a queue has a Redis proper and the oldest RQ that we allow; `make test` has Valkey and the newest.
	@TEST_REDIS_SERVER=$$(command -v redis-server) PYTHONPATH=$(VENV)/rq-$(OLDEST_RQ) TEST_RQ_VERSION=$(OLDEST_RQ) \
	  $(PYTEST) -n $(TEST_PROCESSES) -k '(system or contract or rq or foreign) and not fake' \
	  tests/system tests/contract $(RQ_TESTS)
	@./ops/deploy/compose_drill.sh --if-available

pictures: $(SYSTEM) ## draw the pictures of / and /ops for the documents
	@./ops/deploy/system_tools.sh
	@$(BIN)/python -m tests.pictures

editor: ## build the editor of the page from npm's packages, with the versions in ops/deploy/build_editor.sh; needs npm
	@./ops/deploy/build_editor.sh

test-compose: ## Docker Compose: up, load, kills, down; needs a Docker daemon
	@./ops/deploy/compose_drill.sh

test-nightly: $(SYSTEM) ## the queue by chance; the drills in full, three quarters of an hour; real editors; the training
	@./ops/deploy/system_tools.sh nightly
	@$(PYTEST) --hypothesis-profile=by-chance tests/contract/test_queue_machine.py
	@$(PYTEST) tests/nightly
	@$(MAKE) --no-print-directory test-training

$(TRAINING_STAMP): pyproject.toml ops/training/pyproject.toml
	@echo "installing into $(TRAINING_VENV), with PyTorch: two to five minutes ..."
	@test -x $(TRAINING_BIN)/python || $(PYTHON) -m venv $(TRAINING_VENV)
	@PYTHONWARNINGS=ignore $(TRAINING_BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --editable 'ops/training[dev]'
	@touch $@

test-training: $(TRAINING_STAMP) ## the tests of the training and of its sentences; installs PyTorch into .venv-training
	@cd ops/training && $(abspath $(TRAINING_BIN))/python -m pytest -q -n 2

test-pythons: ## `make up` and `make test` with the Pythons of Debian 13 and of the newest, in chroots; needs root and debootstrap
	@./ops/deploy/pythons_drill.sh

mutants: $(TEST) ## change the code in a hundred places of each part; name the changes that no test sees (MUTANTS="300 scheduler guard")
	@# In a folder of its own: with its setproctitle, gunicorn would give its processes other names.
	@test -d $(MUTMUT) || $(PIP) install --target $(MUTMUT) mutmut==3.8.1
	@PYTHONPATH=$(abspath $(MUTMUT)) $(BIN)/python -m tests.mutants $(MUTANTS)

docs: $(DOCS) ## build the site of the documents into site/; a dead link ends it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build && echo "python3 -m http.server --directory site 8001 # then open http://127.0.0.1:8001: its search needs a server" # not --quiet: that counts no warnings

lint: $(TEST) ## ruff, and mypy strict
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

audit: $(TOOLS)/bin/pip-audit install ## known vulnerabilities of the installed packages; fails where one could not be audited
	@$(BIN)/python -m pip freeze --quiet --exclude-editable > $(TOOLS)/installed.txt
	@$(TOOLS)/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement $(TOOLS)/installed.txt

format: $(TEST) ## ruff, repairing
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

train: $(TRAINING_STAMP) ## install PyTorch into .venv-training and train the model (TRAIN_OPTIONS="FILE ...")
	@$(if $(strip $(TRAIN_OPTIONS)),:,echo "$$TRAIN_USAGE" >&2; exit 2)
	@$(TRAINING_BIN)/miniserve-training train $(TRAIN_OPTIONS)

clean: ## remove .venv and what tools left behind
	@rm -rf $(VENV) $(TRAINING_VENV) .venv-peers $(TOOLS) build dist *.egg-info .pytest_cache .ruff_cache mutants
