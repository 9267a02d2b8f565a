# Everything sets itself up: the first call makes .venv and installs into it, later ones need no network.
#
#   make dev     PostgreSQL, the API, workers, a demo and a live view
#   make test    every test, on the embedded PostgreSQL and, where there is one, on PostgreSQL 15
#   make check   ruff, mypy, import-linter, bandit; the types and the style of the web UI
#   make ui      the web UI's bundle, if its sources changed (make dev and make test do it by themselves)
#   make screenshots  every page of the web UI, light and dark, into docs/screenshots
#   make bench   Weft, its peers and the floor on one PostgreSQL (bench/README.md)
#   make chaos   kills, freezes, restarts and cuts for up to an hour (ARGS="--kills 20 …"); seeds printed, one summary line
#   make clean   takes away what this made, but not .weft, where your tasks are

PYTHON ?= $(shell sh scripts/interpreter.sh)
BIN := .venv/bin
# Tests start hundreds of processes: where this is set, each of them would compile every file anew.
unexport PYTHONDONTWRITEBYTECODE
# A copy of pyproject.toml as it was installed: compared by its text, because times lie after a checkout or a copy.
STAMP := .venv/pyproject.toml
# On two processors: half of the tests wait for other processes at any time (tests/order.py).
JOBS ?= 5
# What failed is tried once more, and its first error shown all the same (tests/second_try.py).
AGAIN := --reruns 1
# No new process for one that died: xdist 3.8 with --dist loadfile then waits forever for what was left in it.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(AGAIN) -rsR
# as tests/in_memory.py does it
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8 * 1024 * 1024 { print "/dev/shm" }')
# Five processes that begin together would each take every test's assertions apart, and each keep what it found: one does it
# for all of them, once, and after that only what was changed is read anew.
COLLECT := [ -e .venv/collected ] || { $(BIN)/python -m pytest --collect-only -q >/dev/null && touch .venv/collected; }
# What speaks SQL; the rest is the same on every PostgreSQL. Of what is not about plans, the queue or the schema those files
# that run a statement which no other file here runs: the others would ask the same again. Not what starts an embedded server,
# and of the faults only what is asked of every statement: where a connection is cut, or a bug planted, no other server behaves
# otherwise. Three processes: here nobody waits, and each begins with reading all of the tests.
JOBS_15 ?= 3
SAME_ON_15 := tests/db/test_embedded% tests/cluster/test_pulse.py tests/jobs/test_clock_of_jobs.py tests/upkeep/test_liveness.py
ON_15 := $(filter-out $(SAME_ON_15),$(wildcard $(addprefix tests/,test_plans.py test_schema.py \
  $(addsuffix /test_*.py,db cluster jobs journal queue settle upkeep views) \
  $(addprefix worker/test_,allowed_hosts.py claimer.py remembered.py secrets_in_tasks.py) \
  chaos/test_stale.py chaos/test_versions.py flows/test_standstill.py \
  aiopslab/test_aiopslab_workers.py aiopslab/test_aiopslab_states.py)))
ARGS ?=

.PHONY: dev ui screenshots test test-15 check bench chaos clean FORCE

# so that the first screen can say how long it took, the installation included
BEGAN := $(shell date +%s)

dev: $(STAMP)
	@$(BIN)/python scripts/ui.py build || echo '*** going on without the web UI'
	@WEFT_MADE_AT=$(BEGAN) $(BIN)/weft dev $(ARGS)

ui: $(STAMP)
	@$(BIN)/python scripts/ui.py build

# Some tests, or another server, are asked for: then only those.
test: $(if $(ARGS)$(WEFT_TEST_SERVER),$(STAMP),test-15)
	@$(BIN)/python scripts/ui.py build
	$(if $(ARGS)$(WEFT_TEST_SERVER),,$(BIN)/python scripts/ui.py test)
	@$(if $(ARGS),,$(COLLECT))
	$(PYTEST) $(ARGS)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
	  printf '\n*** NOT TESTED: the web UI in a real browser. apt-get install chromium-headless-shell (or chromium)\n\n'
	@command -v pgbouncer >/dev/null || \
	  printf '\n*** NOT TESTED: a pooler in transaction mode. apt-get install pgbouncer\n\n'

# The web UI is built meanwhile: most of that is waiting for packages.
test-15: JOBS := $(JOBS_15)
test-15: $(STAMP)
	@if command -v pg_virtualenv >/dev/null && [ -x /usr/lib/postgresql/15/bin/postgres ]; then \
	  echo "PostgreSQL 15:"; \
	  { $(BIN)/python scripts/ui.py build & } 2>/dev/null; building=$$!; \
	  $(COLLECT); \
	  pg_virtualenv -v 15 $(if $(MEMORY),-c "-d $(MEMORY)/weft-tests-15-$$$$") \
	    -o max_connections=200 -o fsync=off -o log_min_messages=panic -o log_checkpoints=off \
	    -o wal_level=logical -o max_replication_slots=50 sh -c \
	    'WEFT_TEST_SERVER="host=$$PGHOST port=$$PGPORT user=$$PGUSER password=$$PGPASSWORD dbname=postgres" $(PYTEST) $(ON_15)'; \
	  passed=$$?; wait $$building; exit $$passed; \
	else \
	  printf '\n*** NOT TESTED: PostgreSQL 15, the oldest that Weft supports. apt-get install postgresql-15\n\n'; \
	fi

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src
	$(BIN)/python scripts/ui.py check

screenshots: $(STAMP)
	@$(BIN)/python scripts/ui.py build
	$(BIN)/python tests/ui/screenshots.py $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m bench $(ARGS)

chaos: $(STAMP)
	WEFT_LONG=1 WEFT_SCHEDULER_KILLS=100 WEFT_WORKFLOW_KILLS=100 WEFT_WORKFLOW_RUNS=1000 $(BIN)/python -m pytest -m "chaos or long" -rs
	PYTHONPATH=tests $(BIN)/python tests/chaos/drive.py $(ARGS)

clean:
	rm -rf ui/node_modules src/weft/web/dist
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist bench/.peers bench/results
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): FORCE
	@if ! cmp -s pyproject.toml $(STAMP); then \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Weft needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }; \
	  echo "installing into .venv …"; \
	  { [ -x $(BIN)/python ] || $(PYTHON) -m venv .venv; } && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable . --group dev && \
	  cp pyproject.toml $(STAMP); \
	fi
