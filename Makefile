# make demo      see the loop at work within two minutes; installs nothing outside .venv
# make test      everything that must hold; starts its own servers, needs root once where Docker or sysbench is missing
# make prove     the long measurements; PART=hold|surge|recovery|soak|load|bench|policies|all, RESUME=1 goes on where
#                it stopped; PART=bench SUITE=contenders: an hour of one suite, the same again goes on with it;
#                PART=policies: an hour of every policy on the simulated server, which goes on by itself as well
# make results   README.md's table and docs/results/bench/README.md from the rows that the bench measured
# make setup     .venv with everything for development
# make lint      style, types and import directions only
# PYTHON=…       which Python makes .venv, 3.11 or later

SHELL := /bin/bash
PART ?= all
ARGS ?=
BIN := .venv/bin
export PYTHON

.PHONY: help setup demo servers lint test prove results

help:
	@sed -n 's/^# //p' Makefile

setup:
	@lab/setup/venv.sh dev

demo:
	@lab/setup/venv.sh demo
	@$(BIN)/innobrim demo $(ARGS)

servers:
	@lab/setup/servers.sh

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases tests/typing
	$(BIN)/lint-imports

test: servers lint
	$(BIN)/pytest $(ARGS)

prove: setup $(if $(filter policies,$(PART)),,servers)
	$(BIN)/python -m lab.prove --part $(PART) $(if $(SUITE),--suite $(SUITE)) $(if $(RESUME),--resume) $(ARGS)

results: setup
	$(BIN)/python -m lab.results $(ARGS)
