# `make demo` and `make test` need Python 3.11 or later with pip, and nothing else: each sets up .venv by itself, once.

PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
BIN := .venv/bin
# pip of the Python outside: a Python without ensurepip (Debian's) makes an environment without pip.
PIP := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lint format reproduce lab lab-quick report compare compare-quick bench bench-training train-all serve tools screenshots animation page-records learned patching prove verify coq coq-tables faults fuzz load mutants seal docs mask-figure dist clean

help:
	@echo "make demo            set up, re-check the certificate, watch the network add"
	@echo "make serve           set up, then the page in the browser: type two numbers, watch, look inside, break it"
	@echo "make test            set up, then lint, types, doctests and fast tests (under 3 minutes)"
	@echo "make test-slow       the slow tests: trainings, kills, the wheel and the site in clean environments"
	@echo "make reproduce       the paper's experiments from nothing, and docs/paper.md (half an hour; can be stopped)"
	@echo "make lab             the paper's open questions, 475 runs (three to four hours; can be stopped), and docs/lab.md"
	@echo "make lab-quick       the same cut short, into runs/lab-quick (under 10 minutes)"
	@echo "make report          docs/lab.md and its figures again from results/lab"
	@echo "make compare         published methods side by side, and docs/compare.md (some hours; can be stopped)"
	@echo "make compare-quick   the same cut short, into runs/compare-quick (a minute)"
	@echo "make bench-training  fast against paper recipe and its earlier version, one run (about 15 minutes)"
	@echo "make bench           every way of adding side by side, 100 to 10^8 digits, one run (about 4 minutes)"
	@echo "make train-all       train all shipped networks again from their seeds, into runs/shipped (under an hour)"
	@echo "make screenshots     the page and each step of its tour, desktop and phone, light and dark, into docs/figures (needs chromium)"
	@echo "make animation       the page as a short animation, docs/figures/page.webp (needs chromium)"
	@echo "make page-records    what the page compares, from results/compare.json and the network whole"
	@echo "make learned         the two trainings of the page's Watch it learn, into src/alga/serve/page (some minutes; can be stopped)"
	@echo "make tools           exported folders in the real transformers, TransformerLens and nnsight (about 4 minutes)"
	@echo "make patching        every head patched for every pair of contexts, and its part of docs/interpretability.md (some minutes)"
	@echo "make prove           check and prove all shipped networks again (about a quarter of an hour)"
	@echo "make verify          prove them by the second program, and docs/verified.md (an hour or two; can be stopped)"
	@echo "make coq             theorems for numbers of any length, checked by Coq's kernel (needs coqc; about ten minutes)"
	@echo "make coq-tables      the same for the table of addition only (a few minutes)"
	@echo "make faults          kill, fill the disk, flip bits, and see that nothing is lost (about half an hour; can be stopped)"
	@echo "make fuzz            coverage-guided fuzzing of everything that reads a stranger's file (SECONDS=60 a target)"
	@echo "make load            ten minutes of honest and hostile clients at one server, and the page's section on it"
	@echo "make mutants         change the core one expression at a time, and see that a test notices (hours; SAMPLE=12 a file; can be stopped)"
	@echo "make seal            write the hashes of the shipped networks' files again, after one was changed on purpose"
	@echo "make docs            these pages, the notebooks and the API reference as a site, in the folder site (half a minute)"
	@echo "make mask-figure     the pictures of docs/how-it-works.md again, from the shipped network's mask"
	@echo "make dist            wheel and source archive in the folder dist, checked as PyPI will check them"
	@echo "make format          format and mend what can be mended"
	@echo "make clean           remove the environment and caches"

demo: .venv/.installed
	@$(BIN)/alga demo

test: lint
	$(BIN)/pytest --numprocesses auto --dist worksteal -m "not slow"

test-slow: .venv/.installed-dev
	$(BIN)/pytest --numprocesses auto --dist loadfile -m "slow and not alone"
	$(BIN)/pytest -m alone

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# With the author's weights at hand: make reproduce AUTHOR=Model.pt
reproduce: .venv/.installed-train
	$(BIN)/alga lab paper --out runs/paper --page docs/paper.md $(if $(AUTHOR),--author $(AUTHOR))
	cp runs/paper/paper.json results/paper.json

lab: .venv/.installed-lab
	$(BIN)/alga lab study
	$(BIN)/alga lab report

lab-quick: .venv/.installed-lab
	$(BIN)/alga lab study --quick --out runs/lab-quick --results runs/lab-quick
	$(BIN)/alga lab report --results runs/lab-quick --page runs/lab-quick/lab.md

report: .venv/.installed-train
	$(BIN)/alga lab report

compare: .venv/.installed-lab
	$(BIN)/alga lab compare --results results/compare.json --page docs/compare.md

compare-quick: .venv/.installed-lab
	$(BIN)/alga lab compare --setting quick --out runs/compare-quick

bench-training: .venv/.installed-train
	$(BIN)/python benchmarks/training.py --out results/training.json

bench: .venv/.installed-bench
	$(BIN)/alga lab bench --out results/bench.json --figure docs/figures/speed.png

# Can be stopped and goes on: what is trained is left alone. Each training ends with a certificate.
train-all: .venv/.installed-train
	set -e; for model in $$($(BIN)/alga tasks --names); do run=runs/shipped/$$model; \
		if test -e $$run/certificate.json; then continue; \
		elif test -e $$run/config.json; then $(BIN)/alga train --resume $$run; \
		else $(BIN)/alga train --like $$model --out $$run; fi; done

serve: .venv/.installed-serve
	$(BIN)/alga serve

patching: .venv/.installed-train
	$(BIN)/python docs/patch_contexts.py

screenshots: .venv/.installed-dev
	$(BIN)/python docs/screenshots.py

learned: .venv/.installed-train
	$(BIN)/python docs/learned.py

animation: .venv/.installed-dev
	$(BIN)/python docs/screenshots.py --animation

page-records: .venv/.installed-train
	$(BIN)/python docs/page_records.py

tools: .venv/.installed-dev
	ALGA_REQUIRE=tools $(BIN)/pytest -s -q tests/export/test_tools.py

prove: .venv/.installed
	$(BIN)/alga certify --all --proof

verify: .venv/.installed-lab .venv/.installed-proof
	$(BIN)/alga lab verify --results results/verify.json --page docs/verified.md

coq: .venv/.installed
	$(MAKE) -C proofs --no-print-directory ALGA=$(abspath $(BIN)/alga)

coq-tables: .venv/.installed
	$(MAKE) -C proofs --no-print-directory ALGA=$(abspath $(BIN)/alga) tables

faults: .venv/.installed-dev
	$(BIN)/python -m tests.faults --folder runs/faults --results results/faults.json --page docs/reliability.md

fuzz: .venv/.installed-dev
	$(PIP) install --quiet --constraint constraints.txt --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --folder runs/fuzz --results results/fuzz.json \
		--page docs/reliability.md --seconds $(or $(SECONDS),60)

load: .venv/.installed-dev
	$(BIN)/python -m tests.load --results results/load.json --page docs/reliability.md

# Can be stopped and continues; survivors are tried again once a test has changed.
mutants: .venv/.installed-dev
	nice -n 10 $(BIN)/python -m tests.mutants --folder runs/mutants --results results/mutants.json --sample $(or $(SAMPLE),0)

seal: .venv/.installed
	$(BIN)/python -c "from alga import runs; from alga.runs import checksums; [checksums.seal(runs.SHIPPED / name) for name in runs.shipped()]"

# Every warning is an error: a broken link or anchor, a page that the navigation forgets, a signature that cannot be read.
docs: .venv/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env -c docs/site -d build/doctrees . site
	@echo "site/index.html"

mask-figure: .venv/.installed-train
	$(BIN)/python docs/mask_figure.py

dist: .venv/.installed-release
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

.venv/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or later found; name one with make PYTHON=…" >&2; exit 1; }
	@echo "Setting up .venv (once) …"
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || $(PYTHON) -m venv --clear --without-pip .venv
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

# What an extra brings, by its name in pyproject.toml.
.venv/.installed-%: .venv/.installed
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
