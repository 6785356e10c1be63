# Everything a developer runs. `make help` lists it.

CACHE  := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/butler
TARGET := $(or $(CARGO_TARGET_DIR),target)
DENY   := $(CACHE)/cargo/bin/cargo-deny
DENY_VERSION := 0.20.2

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

.PHONY: build
build: ## build both programs for development
	cargo build -p butleradm -p butlerctl

.PHONY: release
release: ## build both programs for use: small and quick
# Stamped into `version`; a build from an archive has neither.
release: export BUTLER_COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
release: export BUTLER_BUILT ?= $(shell git show -s --format=%cI HEAD 2>/dev/null)
release:
	cargo build --release -p butlerctl
	cargo build --release -p butleradm

.PHONY: parts
parts: build ## find, download or build etcd, kube-apiserver, kubectl, helm and kind; fetch charts for tests
	BUTLER_HOME=$(CACHE) $(TARGET)/debug/butleradm tools install
	tools/charts/fetch $(CACHE)/charts

.PHONY: demo
demo: parts ## start a real control plane and show the programs on it
	cargo run -q -p butler-tests --bin demo

.PHONY: test
test: parts ## run every test
	cargo test --workspace --no-fail-fast

.PHONY: test-crash
test-crash: parts ## kill bootstraps at every record of their journals, resume them and compare; takes hours
	cargo test -p butleradm --test crash -- --ignored --nocapture

.PHONY: test-faults
test-faults: parts ## let everything go wrong during a bootstrap, and print what it said and how long it took
	@echo '| fault | class | diagnosis after | code | calls to the host | goes on after |'
	cargo test -q -p butleradm --test faults -- --nocapture

# The engine and image that BUTLER_KIND_IMAGE and DOCKER_HOST name; without them ones of our own, which
# only root on Debian can make.
.PHONY: test-kind
test-kind: release parts ## run the tests that need a container engine: KIND and the chart for real
	tests/kind/run $(CACHE) $(TARGET)

.PHONY: bench
bench: release parts ## measure speed against kubectl, curl and git, as ratios
	cargo build -q -p butler-tests --bins
	cargo build -q --release -p butler-term --example frames
	$(TARGET)/debug/bench

.PHONY: screens
screens: parts ## write docs/screens/ anew from real runs on a full screen
	cargo run -q -p butler-tests --bin screens

.PHONY: docs
docs: ## write completions/ and man/ anew from the programs
	BUTLER_UPDATE_DOCS=1 cargo test -q -p butleradm -p butlerctl --test cli docs

.PHONY: check
check: fmt clippy deny doc ## formatting, lints, dependency policy, documentation

.PHONY: fmt clippy deny doc
fmt:
	cargo fmt --all --check
clippy:
	cargo clippy -q --workspace --all-targets -- -D warnings
deny: $(DENY)
	$(DENY) --log-level error check --hide-inclusion-graph bans licenses sources
# The pages are for developers and show private items too, so links to them are fine.
doc:
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc -q --workspace --no-deps --document-private-items

$(DENY):
	cargo install --quiet --locked --root $(CACHE)/cargo cargo-deny@$(DENY_VERSION)
