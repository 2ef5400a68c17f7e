# make demo      see the loop at work within two minutes; installs nothing outside .venv
# make test      everything that must hold; starts its own servers, needs root once where Docker or sysbench is missing;
#                ARGS=tests/journal: that alone, WORKERS=0: one test after the other, in one process
# make check     within five minutes: what needs neither server nor browser, and no hours of simulated time, side by side
# make prove     the long measurements, an hour at a time, gone on with by the same command: PART=bench SUITE=contenders, one of
#                `innobrim bench --help`, into docs/results/bench, no row of which begins after TIME=55m; SERVER=… ROWS=… SEED=…:
#                on another server, into another directory, in a known order; PART=plan: what is older than the
#                policy in force or was never measured, most asked for first; ARGS=3: that of its list, also where it is measured;
#                PART=soak: the daemon on a
#                real server with a random fault every minute; PART=day: 24 hours with a load that follows the hour, a batch,
#                a backup and a fault every ten minutes; ARGS="--server mysql-8.0.31 --hours 3": the next three that have no rows;
#                PART=memory: what the daemon holds over the ticks of hours; ARGS=--no-api; PART=no-harm: every scenario with the loop and without;
#                PART=ledger: what the ledger says was saved against the truth; PART=ablation: no-harm without each mechanism; PART=hostile: a daemon beside a server that answers oddly;
#                PART=releases: the loop on each release of MySQL and MariaDB that make servers gets; ARGS="-k mysql": half of it;
#                PART=sizing: what innobrim redo foretells of larger logs, and what they bring, and trials of an hour on two
#                releases; ARGS="-k 'synced and 9.7'", ARGS="-k 'trial and 9.7'": a part;
#                PART=mutants: small changes in what must not break, and whether a test notices them;
#                PART=kubernetes: the chart on a real API server, which it builds with Go in half an hour;
#                PART=fleet: a thousand servers in a Prometheus; PART=audit: known vulnerabilities in the lock files, all of them looked up; SERVICE=osv
# make servers   the servers that tests, benches and the demo start by name (docs/lab/bench.md); ARGS=mysql-8.0.31: that one alone
# make deb       dist/innobrim_*.deb for Debian 12, with its own environment; needs what make servers makes; REVISION=2
# make image     the container image innobrim:latest; BASE=python:3.11-slim-bookworm@sha256:… names its base by the digest,
#                which needs Docker alone; BASE=innobrim/systemd:252 without a registry
# make release   dist/release/X.Y.Z of the tag vX.Y.Z at HEAD: wheel, packages, SBOM, apt and dnf repositories, checksums; signed where
#                RELEASE_KEY=… names a GPG key of yours, with the container image where BASE=… names its base;
#                SUITES="bookworm el9": for these distributions alone; ARCHES=amd64: for this processor alone, without arm64
# make lock      deploy/requirements.lock and deploy/build.lock anew: the newest versions that pyproject.toml and
#                deploy/build.in allow, each with its hashes
# make docs      the documentation as a site in .cache/site; open its index.html, search included, without a network
# make setup     .venv with everything for development
# make lint      style, types and import directions only
# PYTHON=…       which Python makes .venv, 3.11 or later

SHELL := /bin/bash
PART ?= bench
SUITE ?= contenders
TIME ?= 55m
SERVER ?= innobrim/mysql:9.7
SEED ?=
SERVICE ?= pypi
ARGS ?=
WORKERS ?= 4
BIN := .venv/bin
ROWS ?= docs/results/bench/$(SUITE)
export PYTHON
unexport PYTHONDONTWRITEBYTECODE # hundreds of tests start a Python, which would compile all of ours each time

.PHONY: help setup demo servers lint check test prove deb image release lock docs

help:
	@sed -n 's/^# //p' Makefile

setup:
	@lab/setup/venv.sh dev

demo:
	@lab/setup/venv.sh demo
	@$(BIN)/innobrim demo $(ARGS)

servers:
	@lab/setup/servers.sh $(if $(filter servers,$(MAKECMDGOALS)),$(ARGS))

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases tests/typing
	$(BIN)/lint-imports

check: lint
	$(BIN)/pytest -n $(WORKERS) -m "not real and not browser and not long" $(ARGS)

## Side by side: docs/decisions/tests.md. No test is tried again: one that fails now and then is mended.
test: servers lint
	$(BIN)/pytest -n $(WORKERS) -m "not prove" $(ARGS)

PARTS := bench plan soak day memory no-harm ledger ablation hostile releases sizing mutants audit kubernetes fleet
ifneq ($(filter prove,$(MAKECMDGOALS)),)
ifeq ($(filter $(PART),$(PARTS)),)
$(error PART=$(PART): there is no such part; there are $(PARTS). A suite of the bench is SUITE=$(PART))
endif
endif

prove: setup $(if $(filter memory no-harm ledger ablation mutants audit,$(PART)),,servers)
ifeq ($(PART),soak)
	$(BIN)/python -m tests.soak $(ARGS)
else ifeq ($(PART),day)
	$(BIN)/python -m tests.soak.day $(ARGS)
else ifeq ($(PART),plan)
	$(BIN)/python -m tools.plan --time $(TIME) $(ARGS)
else ifeq ($(PART),memory)
	$(BIN)/python -m tests.soak.memory $(ARGS)
else ifeq ($(PART),no-harm)
	$(BIN)/python -m tools.no_harm $(ARGS)
else ifeq ($(PART),ledger)
	$(BIN)/python -m tools.ledger $(ARGS)
else ifeq ($(PART),ablation)
	$(BIN)/python -m tools.ablation $(ARGS)
else ifeq ($(PART),hostile)
	HOSTILE_SECONDS=3300 $(BIN)/pytest tests/servers/test_hostile_daemon.py $(ARGS)
else ifeq ($(PART),releases)
	$(BIN)/pytest tests/real/test_families.py tests/real/test_releases.py $(ARGS)
else ifeq ($(PART),sizing)
	$(BIN)/pytest tests/real/test_sizing.py tests/real/test_trial.py $(ARGS)
else ifeq ($(PART),kubernetes)
	lab/setup/apiserver.sh
	$(BIN)/pytest tests/real/test_kubernetes.py $(ARGS)
else ifeq ($(PART),fleet)
	$(BIN)/pytest tests/deploy/test_fleet.py $(ARGS)
else ifeq ($(PART),mutants)
	$(BIN)/python -m tests.mutants $(ARGS)
else ifeq ($(PART),audit)
	for lock in deploy/requirements.lock deploy/build.lock; do \
	  $(BIN)/pip-audit --strict --require-hashes --disable-pip -s $(SERVICE) -r $$lock || exit 1; \
	done
else
	$(BIN)/innobrim bench --time $(TIME) $(if $(wildcard $(ROWS)/bench.json),--resume $(ROWS),\
	  --suite $(SUITE) --server $(SERVER) --output $(ROWS) $(if $(SEED),--seed $(SEED))) $(ARGS)
endif

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

deb: setup
	@deploy/debian/build.sh

image: setup $(if $(filter innobrim/%,$(BASE)),servers)
	@deploy/container/build.sh

release: setup
	@deploy/release/build.sh

## uv takes the hashes from the index that pip uses, without fetching every file; for the Python of the Debian package.
lock: setup
	for pair in pyproject.toml:requirements.lock deploy/build.in:build.lock; do \
	  $(BIN)/uv pip compile "$${pair%%:*}" --output-file "deploy/$${pair##*:}" --upgrade --generate-hashes \
	    --python-version 3.11 --python-platform linux --no-annotate --no-emit-index-url --custom-compile-command "make lock" \
	    $(addprefix --default-index ,$(shell $(BIN)/pip config get global.index-url 2>/dev/null)) || exit 1; \
	done
