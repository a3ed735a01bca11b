# A veneer: each rule calls the program that does the work. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup builder builder-down portable atom-vllm gate wheels check format lint types layers unit golden validate-golden \
        lock update-lock validate-lock validate-locks update-locks lock-portable validate-manifests docker-check test cases e2e

VENV := .venv/bin
export MANIFEST ?= instinct
# Only what the caller set reaches bake; its own defaults are in docker-bake.hcl.
# Not from the environment, where ENV is a start-up file of some shells.
ifeq ($(origin ENV),command line)
  WITH_ENV := set -a; . '$(ENV)' && set +a &&
endif

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{ printf "  make %-20s %s\n", $$1, $$2 }'

# --- set-up

setup: .venv/ready ## make .venv with .venv/bin/atomstack and the development tools
.venv/ready: requirements-dev.lock scripts/setup.sh
	@scripts/setup.sh

builder: ## find a BuildKit builder, or start one from Debian's packages
	@scripts/builder.sh up

builder-down: ## stop the builder that `make builder` started, and only that
	@scripts/builder.sh down

# --- images

portable: ## build atom-vllm for a machine without GPU and registry
	@$(MAKE) --no-print-directory atom-vllm MANIFEST=portable

atom-vllm: setup builder update-recipes ## build atom-vllm for MANIFEST (ENV=env/FILE.env for another tuple)
	@$(WITH_ENV) scripts/bake.sh atom-vllm

gate: setup builder update-recipes ## does the pinned ATOM fit the pinned vLLM? a verdict in seconds
	@$(WITH_ENV) scripts/bake.sh gate

wheels: setup builder update-recipes ## build every wheel of the tuple into dist/wheels
	@$(WITH_ENV) scripts/bake.sh wheels

# --- generated files, each with its twin

lock: update-lock ## the same as update-lock
update-lock: setup builder ## resolve every pin and render every manifest into docker-bake.override.json
	@$(VENV)/atomstack manifest render
	@scripts/builder.sh run $(VENV)/atomstack lock

update-recipes: setup ## renew in docker-bake.override.json what takes no network: recipes and manifests
	@$(VENV)/atomstack lock --recipes
	@$(VENV)/atomstack manifest render
.PHONY: update-recipes

validate-lock: setup ## docker-bake.override.json is what the pins, recipes and manifests give
	@$(VENV)/atomstack lock --check
	@$(VENV)/atomstack manifest render --check

validate-manifests: setup ## every manifest is valid
	@$(VENV)/atomstack manifest check

golden: setup builder ## freeze the resolved bake output of every manifest in tests/golden
	@scripts/builder.sh run $(VENV)/pytest -q tests/golden --update

validate-golden: setup builder ## the resolved bake output is the frozen one
	@scripts/builder.sh run $(VENV)/pytest -q tests/golden

update-locks: setup ## renew the hashes of the development tools and of what images are built with
	@PATH="$(CURDIR)/$(VENV):$$PATH" scripts/lock-tools.py

lock-portable: setup ## renew docker/vllm/portable.lock (Python 3.11 on x86_64)
	@$(VENV)/python scripts/lock-portable.py

validate-locks: setup ## those were made from what stands here
	@$(VENV)/python scripts/lock-tools.py --check
	@$(VENV)/python scripts/lock-portable.py --check

# --- checks

check: setup ## format, lint, types, layers, unit tests, golden files
	@scripts/timed.sh format $(MAKE) --no-print-directory format
	@scripts/timed.sh lint $(MAKE) --no-print-directory lint
	@scripts/timed.sh types $(MAKE) --no-print-directory types
	@scripts/timed.sh layers $(MAKE) --no-print-directory layers
	@scripts/timed.sh generated $(MAKE) --no-print-directory validate-lock validate-locks validate-manifests
	@scripts/timed.sh golden $(MAKE) --no-print-directory validate-golden
	@scripts/timed.sh unit $(MAKE) --no-print-directory unit

format: setup ## Python is formatted
	@$(VENV)/ruff format --check
lint: setup ## Python, shell scripts and workflows
	@$(VENV)/ruff check
	@$(VENV)/shellcheck scripts/*.sh docker/with-secrets docker/*/*.sh .ci/run
	@$(VENV)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(VENV)/zizmor --quiet --offline .github/workflows
types: setup ## mypy, strict
	@$(VENV)/mypy
layers: setup ## imports go the way the layers do
	@$(VENV)/lint-imports
unit: setup builder ## unit tests, on every core
	@scripts/builder.sh run $(VENV)/pytest -q -n auto tests/unit

docker-check: setup builder ## BuildKit's own check of every Dockerfile
	@scripts/docker-check.sh

cases: setup ## compat-check on real packages, and the public measurement
	@$(VENV)/pytest -q tests/cases --durations=5

e2e: setup portable ## build, start and question the portable image
	@$(VENV)/pytest -v tests/e2e --durations=0

test: ## everything: check, then the real thing
	@rm -f .build/times
	@scripts/timed.sh setup $(MAKE) --no-print-directory setup builder
	@$(MAKE) --no-print-directory check
	@scripts/timed.sh cases $(MAKE) --no-print-directory cases
	@scripts/timed.sh docker-check $(MAKE) --no-print-directory docker-check
	@scripts/timed.sh "make portable" $(MAKE) --no-print-directory portable
	@scripts/timed.sh e2e $(MAKE) --no-print-directory e2e
	@echo; scripts/timed.sh --report
