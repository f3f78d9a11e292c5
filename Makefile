# The work on this repository. "make" alone says what there is.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
GORELEASER  := github.com/goreleaser/goreleaser/v2@v2.15.0
AXE         := 4.10.3
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.7

VERSION ?= $(shell git describe --tags --always --dirty --match 'v*' 2>/dev/null || echo devel)
# The version comes from git describe above; the toolchain's own stamp fails in a checkout that belongs to somebody else.
# One set of flags for every go command, so that each package is compiled once: make demo after make build, and make test.
export GOFLAGS := $(strip $(filter-out -trimpath -buildvcs=false,$(GOFLAGS)) -buildvcs=false -trimpath)
export CGO_ENABLED := 0

PROGRAMS := eggo-tui eggo-bundle eggo-server eggops
# Tests of a package that run at the same time: many wait for what a simulated node or a peer does.
PARALLEL ?= 8
# The packages whose tests take longest begin first: go test goes by the order of its list.
LONGEST := ./internal/phases ./cmd/eggo-tui
# The packages with tests that -short skips or shortens.
LONG = $(sort $(dir $(shell grep -rlF --include='*_test.go' 'testing.Short()' ./assets ./cmd ./internal)))
N    ?= 3
NODE ?= n1

.DEFAULT_GOAL := help
.PHONY: help build install test test-race test-long test-codes test-operator fuzz lint generate generate-check fmt e2e e2e-full demo demo-down lab-up lab-down lab-ssh bench bench-deploy bench-packages shots page-check page-shots goreleaser-check release-snapshot release clean cis conformance

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/eggo-tui, bin/eggo-bundle, bin/eggo-server and bin/eggops, static
	@mkdir -p bin
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $(PROGRAMS:%=./cmd/%)
	@ln -sf eggo-tui bin/eggo

install: build ## the programs into $(DESTDIR)$(PREFIX)/bin, with eggo as another name of eggo-tui
	install -D -m 0755 -t $(DESTDIR)$(or $(PREFIX),/usr/local)/bin $(PROGRAMS:%=bin/%)
	ln -sf eggo-tui $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/eggo

FAULTS := $(CURDIR)/bin/faults
# With BESIDE=1 the tests with simulated nodes run on one processor and all others on another, three packages at a time.
ASIDE := $(if $(BESIDE),-p 3 -exec $(CURDIR)/.ci/beside)
ifdef RACE
test: export EGGO_FAULTS := $(FAULTS)
# By default a program with the race detector sleeps for a second before it exits, and the tests run hundreds.
test: export GORACE := atexit_sleep_ms=0
endif
test: ## vet, and the tests that need no root and no network; with RACE=1 under the race detector, which needs a C compiler
	go vet ./...
ifdef RACE
	@rm -rf $(FAULTS) && mkdir -p $(FAULTS)
	CGO_ENABLED=1 go test -short -count=1 -race -vet=off -tags faults -parallel 5 -timeout 30m $(ASIDE) $(LONGEST) ./...
else
	go test -short -ldflags=-w -parallel $(PARALLEL) -timeout 10m $(LONGEST) ./...
endif

test-long: export EGGO_FAULTS := $(FAULTS)
# After a turn no code has to have been provoked, and without the tag the packages are those that make build compiled.
test-long: ## the tests that "make test" leaves out; with TURN=1/4 a quarter of the longest
	@mkdir -p $(FAULTS)
	run=$$(.ci/long $(TURN)) && go test -count=1 -vet=off $(if $(TURN),,-tags faults) -parallel $(PARALLEL) -timeout $(if $(TURN),30m,90m) $(ASIDE) -run "$$run" $(LONG)

test-codes: ## whether "make test RACE=1" and then "make test-long" provoked every error code
	EGGO_FAULTS_OF_ALL=$(FAULTS) go test -count=1 -vet=off -tags faults -run '^TestEveryCode' ./internal/output/i18n

test-race: ## all tests, with the race detector but for the long ones; at last, whether they provoked every error code
	$(MAKE) test RACE=1
	$(MAKE) test-long
	$(MAKE) test-codes

fuzz: ## every fuzz target for five seconds: make fuzz T=1m FUZZ=FuzzDecode for one of them and longer, KEEP=1 to keep what it found
	@KEEP=$(KEEP) .ci/fuzz $(or $(T),5s) $(FUZZ)

generate: ## what controller-gen makes of api/v1: deep copies, and the definitions in assets/eggops/crds
	cd tools && go build -o ../bin/ sigs.k8s.io/controller-tools/cmd/controller-gen
	bin/controller-gen object crd:maxDescLen=1000 paths=./api/v1 output:crd:dir=assets/eggops/crds

generate-check: generate ## whether all of that is committed
	@git diff --exit-code --stat -- api assets/eggops/crds
	@test -z "$$(git ls-files --others --exclude-standard -- api assets/eggops/crds)"

lint: generate-check ## gofmt, vet, staticcheck, shellcheck, the workflows, and nothing of this machine in a file
	@.ci/gofmt
	go vet ./...
	go run $(STATICCHECK) ./...
	@.ci/shellcheck
	go run $(ACTIONLINT) .github/workflows/*.yml
	@.ci/no-machine

fmt: ## format all Go files, and sort the sentences
	@git ls-files -z '*.go' | xargs -0 gofmt -l -w
	@go test ./internal/output/i18n -run TestTheDataFilesAreInOrder -count=1 -args -update

e2e: build ## real clusters on real nodes on this machine (root; long the first time: the lab's upstream is built from source)
	@.ci/e2e

test-operator: ## the tests of the operator against a real API server, which the lab's upstream has
	EGGO_E2E=1 go test -short -count=1 -vet=off -timeout 10m ./api/... ./internal/operator/...

e2e-full: build ## e2e with every scenario, the lab and its upstream too (hours)
	EGGO_E2E=1 EGGO_E2E_FULL=1 go test -count=1 -p 1 -v -timeout 6h ./test/... ./internal/bundle/deb

demo: build ## from nothing to a running cluster of three nodes on this machine (root)
	go run ./test/e2e/cmd/demo

demo-down: ## take the demo away
	go run ./test/e2e/cmd/demo down

lab-up: ## boot the nodes n1 to nN: make lab-up N=5, or N=3 RPM=n2 FOREIGN=n3 for some of the rpm family or of the other architecture, N=3 VM=n2 VM_ARM64=n3 for virtual machines
	go run ./test/lab/cmd/lab up $(N) $(RPM:%=--rpm %) $(FOREIGN:%=--foreign %) $(VM:%=--vm %) $(VM_ARM64:%=--vm-arm64 %)

lab-down: ## power the lab's nodes off and remove its network
	go run ./test/lab/cmd/lab down

lab-ssh: ## log in: make lab-ssh NODE=n1
	@go run ./test/lab/cmd/lab ssh $(NODE)

bench: ## bundles built beside crane, skopeo and tar with pigz, and beside what the machine can do; the screen with a hundred machines; the server with a thousand clusters and viewers; as root, bench-deploy: EGGO_BENCH_SCALE=0.1 for a quick look
	go run ./test/bench/cmd/bench
	go run ./test/bench/cmd/screen
	go run ./test/bench/cmd/server
	@if [ "$$(id -u)" = 0 ]; then $(MAKE) bench-deploy; else echo "bench-deploy is left out: it needs root"; fi

bench-deploy: build ## a cluster of three control planes: eggo-tui deploy with both drivers, beside a careful script of the same steps and kubeadm by hand: WAYS=kubeadm,eggo-kubeadm ROUNDS=3 (root; docs/bench.md)
	go run ./test/bench/cmd/deploy $(WAYS:%=-ways %) $(ROUNDS:%=-rounds %)

cis: ## kube-bench, the CIS benchmark, on the nodes of the lab's cluster, which is installed if there is none: DRIVER=kubeadm (root; docs/security.md)
	go run ./test/cis

conformance: ## upstream's conformance tests against the lab's cluster, which is installed if there is none: UPGRADE=v1.35.4, RERUN=failed, DRIVER=kubeadm (root; docs/conformance.md)
	go run ./test/conformance

bench-packages: ## the benchmarks of the packages; they report, they assert nothing
	go test -run '^$$' -bench . -benchmem ./internal/...

shots: ## the pictures of docs/shots, one of them moving (needs fonts-dejavu-core and fonts-noto-cjk, no terminal)
	go run ./test/shots

page-check: ## the web page in a headless Chromium: keys, hostile input, and axe-core (npm) finds nothing; with TURN=1/8 the first of the eight looks alone
	@.ci/page $(AXE) $(TURN)

page-shots: ## screenshots of the web page into docs/shots, with a headless Chromium
	go run ./test/page/shots

goreleaser-check: ## is .goreleaser.yaml valid? (compiles goreleaser the first time)
	go run $(GORELEASER) check

release-snapshot: ## archives, packages, checksums and bills of materials into dist; nothing is published
	go run $(GORELEASER) release --snapshot --clean $(RELEASE)

release: ## the same for a tag, published (GITHUB_TOKEN)
	go run $(GORELEASER) release --clean $(RELEASE)

clean: ## remove what the build made
	rm -rf bin dist
