# `make` sets up and runs the default job; `make test` sets up and runs the tests. `make help` lists the rest.
PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= 4
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
CONFIG ?= config/config.yaml
MODELS ?= 300

# Start-up of every job is dominated by imports: let Python keep its compiled files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run report search unlock test test-second test-all test-cluster test-cluster-whole test-faults test-protections test-load test-flower audit-dependencies lint format docs site bench smoke audit mnist paper dataset verify-paper clean help

##@ Everyday

run: $(VENV)/.ok  ## set up, then run the default job (CONFIG=..., CORES=...; SCROLL=1 shows all that is printed)
	@$(BIN)/python -m sifu run --config $(CONFIG) --cores $(CORES) $(if $(SCROLL),--scroll)

smoke: $(VENV)/.ok  ## every stage, in one or two minutes
	$(MAKE) run CONFIG=config/smoke.yaml

report: $(VENV)/.ok  ## tables, figures and the HTML report of what has been run so far (CONFIG=...)
	$(BIN)/python -m sifu report --config $(CONFIG)
	$(BIN)/python -m sifu figure --config $(CONFIG)
	$(BIN)/python -m sifu page --config $(CONFIG) --command "snakemake --cores $(CORES) --configfile $(CONFIG)"

test: $(VENV)/.ok  ## set up, then run the tests, some minutes; test-all runs the long ones, too
	$(PYTEST)

help:  ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

audit: $(VENV)/.ok  ## do the certificates hold? counts small trainings with and without a client, below two minutes (MODELS=...)
	$(BIN)/python -m sifu audit --scenario smoke_epsilon_1 --client 0 --variant sifu sifu_strict last --models $(MODELS)

##@ Configs and the replication

search: $(VENV)/.ok  ## search again for the settings that the default job takes as found before
	$(MAKE) run CONFIG=config/search.yaml

mnist: $(VENV)/.ok  ## MNIST with the paper's settings, and the strongly convex case; data from SIFU_DATA_ROOT
	$(MAKE) run CONFIG=config/mnist.yaml

paper: $(VENV)/.ok  ## the paper's datasets and methods; datasets from SIFU_DATA_ROOT
	@if test -e results/paper/manifest.json && ! ls results/paper/train/*/*/history.safetensors > /dev/null 2>&1; then \
	  echo "results/paper holds the published tables without their trainings; remove the folder to run all again"; exit 1; fi
	$(MAKE) run CONFIG=config/paper.yaml
	$(BIN)/python -m sifu manifest --config config/paper.yaml
	$(BIN)/python -m sifu pack-results --config config/paper.yaml
	$(MAKE) docs

dataset: $(VENV)/.ok  ## the margins of a run's many models as a folder to publish (CONFIG=..., SCENARIO=... for some of its scenarios)
	$(BIN)/python -m sifu dataset --config $(CONFIG) $(if $(SCENARIO),--scenario $(SCENARIO))

verify-paper: $(VENV)/.ok  ## run a few cells of results/paper again and compare; datasets from SIFU_DATA_ROOT
	$(BIN)/python -m sifu verify-paper

##@ Work on the suite

lint: $(VENV)/.ok  ## style, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ok  ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

site: $(VENV)/.ok  ## static pages in site/, ready for GitHub Pages: of results/paper, or of CONFIG=... once it is reported
	$(BIN)/python -m sifu site --config $(if $(filter file,$(origin CONFIG)),config/paper.yaml,$(CONFIG))

docs: $(VENV)/.ok  ## write the generated pages, and the generated parts of README and docs
	$(BIN)/python -m sifu docs

bench: $(VENV)/.ok  ## time the engine against the plain loop
	$(BIN)/python -m sifu bench

##@ More tests

test-second: $(VENV)/.ok  ## second looks at what `make test` shows: pages in a browser, the docs' examples, plugins; CI runs them
	$(PYTEST) -m "second and not long"

test-all: $(VENV)/.ok  ## `make test` with the long tests and more examples, then all below; an hour or more, as root
	$(PYTEST) --hypothesis-profile=all -m "not cluster and not whole and not faults and not protections and not load and not flower"
	$(MAKE) test-faults
	$(MAKE) test-protections
	$(MAKE) test-load
	$(MAKE) test-flower
	$(MAKE) test-cluster
	$(MAKE) test-cluster-whole

test-cluster: $(VENV)/.ok  ## the suite on a real Slurm of four nodes, installed and started here as root for some minutes
	timeout --foreground -s INT -k 60 1800 $(BIN)/python -m pytest -q -m cluster tests/cluster

test-cluster-whole: $(VENV)/.ok  ## the same with every stage of config/smoke.yaml and config/whole.yaml, ten minutes or more
	timeout --foreground -s INT -k 60 5400 $(BIN)/python -m pytest -q -m whole tests/cluster

test-faults: $(VENV)/.ok  ## runs that are killed and started again, ten minutes or so
	$(BIN)/python -m pytest -q -m faults

test-protections: $(VENV)/.ok  ## whether each test of a fault fails without the protection, ten minutes or so, as root
	$(BIN)/python -m pytest -q -m protections

test-load: $(VENV)/.ok  ## plans of 5,000 and 50,000 cells
	$(BIN)/python -m pytest -q -s -m load

test-flower: $(VENV)-flower/.ok  ## unlearning in Flower: parity, faults, simulation, ten real SuperNodes; below five minutes
	timeout --foreground -s INT -k 60 1200 $(VENV)-flower/bin/python -m pytest -q -n 2 --dist loadfile -W ignore::DeprecationWarning -m flower tests/flower

audit-dependencies: $(VENV)/.ok  ## known vulnerabilities of the versions in constraints.txt; needs pip-audit and a network
	@$(BIN)/python -c "import pip_audit" 2> /dev/null || { echo "pip-audit is missing: install it into $(VENV) first"; exit 1; }
	$(BIN)/python -m pip_audit -r constraints.txt --no-deps --disable-pip

##@ Housekeeping

unlock: $(VENV)/.ok  ## after a run that was killed: remove Snakemake's lock (CONFIG=...)
	$(BIN)/snakemake --unlock --cores 1 --configfile $(CONFIG)

clean:  ## remove results and caches, keep the environment
	rm -rf results/sweep results/request_sets results/partition results/train results/unlearn results/verify results/alpha results/alpha_sweep results/audit results/oracles results/forgetting results/atlas results/report results/smoke results/whole \
	  results/search results/scenario_search results/default_search results/null_space results/mnist results/field results/many \
	  results/one results/all results/again results/cluster results/try .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.ok: pyproject.toml constraints.txt
	@sh workflow/install.sh "$(PY)" "$(VENV)"
	@touch $@

$(VENV)-flower/.ok: pyproject.toml constraints.txt
	@sh workflow/install.sh "$(PY)" "$(VENV)-flower" dev,slurm,flower-simulation
	@touch $@
