# Sightline: `make demo` sets everything up and runs the main job; `make test` sets up and runs the tests.

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/stamps

.PHONY: help setup demo up test test-long bench lint ml weights doctor clean

help:  ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

$(STAMP)/venv:
	@bash requirements/venv.sh $(VENV)
	@mkdir -p $(STAMP) && touch $@

$(STAMP)/run: requirements/run.lock pyproject.toml $(STAMP)/venv
	@$(PYTHON) requirements/install.py requirements/run.lock .
	@$(PYTHON) requirements/warm.py run
	@touch $@

$(STAMP)/dev: requirements/dev.lock $(STAMP)/run
	@$(PYTHON) requirements/install.py requirements/dev.lock
	@$(PYTHON) requirements/warm.py dev
	@touch $@

$(STAMP)/ml: requirements/ml.lock $(STAMP)/run
	@echo "Installing the packages of requirements/ml.lock (large)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/ml.lock
	@touch $@

setup: $(STAMP)/run  ## Virtual environment and packages, no more

demo: $(STAMP)/run  ## Set up, import and perceive the demo clip, stay up until Ctrl-C (ARGS="--exit --json FILE")
	@$(PYTHON) manage.py demo $(ARGS)

up: $(STAMP)/run  ## Set up and start the studio (ARGS="--port 9000 --data DIR")
	@$(PYTHON) manage.py up $(ARGS)

test: $(STAMP)/dev $(STAMP)/ml  ## Set up and run all tests but the long ones, two at a time (ARGS are pytest's)
	@bash requirements/chromium.sh
	@$(PYTHON) -m pytest -n 2 --dist loadfile $(ARGS)

test-long: $(STAMP)/dev $(STAMP)/ml  ## The tests that take minutes
	@bash requirements/chromium.sh
	@$(PYTHON) -m pytest -m long --timeout 1800 $(ARGS)

bench: $(STAMP)/dev  ## Measure, and print one table
	@bash requirements/chromium.sh
	@$(PYTHON) -m pytest -m "bench or measured" --timeout 1800 -s $(ARGS)

lint: $(STAMP)/dev  ## ruff, mypy, djhtml
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy ml webapp workers tests
	@$(VENV)/bin/djhtml --check templates

ml: $(STAMP)/ml  ## Also torch and transformers, for SAM 3 and training

weights: $(STAMP)/run  ## Fetch and convert the model weights
	@$(PYTHON) -m ml.weights.fetch

doctor: $(STAMP)/run  ## Say what is missing, in sentences
	@$(PYTHON) manage.py doctor $(ARGS)

clean:  ## Remove the virtual environment and caches; data folders stay
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find ml webapp workers tests -name __pycache__ -type d -prune -exec rm -rf {} +
