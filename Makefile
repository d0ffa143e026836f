# SPDX-License-Identifier: Apache-2.0
#
# `make help` lists the targets. They need Go and a module proxy, nothing else: the tools
# below are built into ./bin at these versions.

GOLANGCI_LINT      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BUF                := github.com/bufbuild/buf/cmd/buf@v1.70.0
PROTOC_GEN_GO      := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
GOVULNCHECK        := golang.org/x/vuln/cmd/govulncheck@v1.9.0
APIDIFF            := golang.org/x/exp/cmd/apidiff@v0.0.0-20260908205506-85c1c2202aba

# The release of google.golang.org/grpc that this module stands in for: version.go says which.
PUBLISHED := v$(shell sed -n 's/^const Version = "\(.*\)"/\1/p' version.go)

# How long each fuzz target runs, and flags for every `go test`.
FUZZTIME  ?= 10s
TESTFLAGS ?= -shuffle=on

# Packages whose tests also run with the pooled reader switched off.
POOLED  := . ./internal/transport ./internal/transport/h2 ./interop/... ./credentials/alts/...
# Packages that are otherwise with the build tag grpctrace: RPCs are recorded for /debug/requests.
TRACED  := ./experimental/nettrace ./health
UNPOOL  := GRPC_GO_EXPERIMENTAL_HTTP_FRAMER_READ_BUFFER_POOLING=false

# Modules below this one; each is built and tested in its own folder. What thirdparty has
# needs hundreds of packages of others: `make thirdparty` tests it, the rest leaves it alone.
NESTED := $(patsubst ./%/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path './bin/*' -not -path './thirdparty/*'))

# Those that `make lint` checks.
LINTED := $(NESTED) thirdparty/transports thirdparty/etcd

# What `make race` runs with the pooled reader switched off, and in modules below: those whose tests call what
# is here from many goroutines. The others measure, compare what programs print, or attack servers in processes of
# their own.
POOLED_RACED := ./internal/transport ./internal/transport/h2
NESTED_RACED := $(filter-out attack parity tools/vet benchmark benchmark/%,$(NESTED))

# Packages of this module that are otherwise with the race detector.
RACED = $(filter-out $(NESTED:%=./%/%),$(sort $(dir $(shell grep -rlE --include='*.go' '^//go:build .*\brace\b' .))))

# Packages of this module that have benchmarks.
BENCHED = $(filter-out ./thirdparty/% $(NESTED:%=./%/%),$(sort $(dir $(shell grep -rlE --include='*_test.go' '^func Benchmark' .))))

# Systems that are vetted, but not run, here.
FOREIGN := darwin/arm64 windows/amd64 freebsd/amd64 linux/386

BIN := $(CURDIR)/bin
.DEFAULT_GOAL := all
.PHONY: all help demo test race lint fmt fuzz attack stress bench bench-smoke apicheck interop parity thirdparty proto tidy tidy-check vet-all clean

all: test lint ## run test and lint (what plain `make` does)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## show what idle connections cost, with pooling on and off and beside the published module
	go -C benchmark run ./cmd/demo $(ARGS)

.PHONY: demo-xds
demo-xds: ## show a client that a control plane leads: traffic shifted, a zone that fails
	go -C internal/xds/test run ./demo $(ARGS)

test: ## run all tests, and those of the transport again with the plain reader
	bash tools/test.sh $(TESTFLAGS) ./...
	$(UNPOOL) bash tools/test.sh $(TESTFLAGS) $(POOLED)
	bash tools/test.sh $(TESTFLAGS) -tags grpctrace $(TRACED)
	bash tools/test.sh $(TESTFLAGS) -tags grpcnotlsrelease ./internal/tlsconn
	@set -e; for m in $(NESTED); do echo "== $$m"; (cd $$m && bash $(CURDIR)/tools/test.sh $(TESTFLAGS) ./...); done

# Vetted they are by make test, but for what only a build with the race detector has. With -short, tests that compute a
# lot in one goroutine do less of it.
race: TESTFLAGS += -race -vet=off -short
race: ## run them under the race detector, where pools also check how they are used
	bash tools/test.sh $(TESTFLAGS) ./...
	$(UNPOOL) bash tools/test.sh $(TESTFLAGS) $(POOLED_RACED)
	@set -e; for m in $(NESTED_RACED); do echo "== $$m"; (cd $$m && bash $(CURDIR)/tools/test.sh $(TESTFLAGS) ./...); done
	go vet -race $(RACED)

lint: $(BIN)/golangci-lint ## check style, mistakes and who may import whom
	$(BIN)/golangci-lint run ./...
	@set -e; for m in $(LINTED); do echo "== $$m"; (cd $$m && $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

fmt: $(BIN)/golangci-lint ## format the sources
	$(BIN)/golangci-lint fmt ./...

fuzz: ## run every fuzz target for FUZZTIME (10s)
	tools/fuzz.sh $(FUZZTIME)

attack: ## attack this module and the published one in turn, and compare (ARGS=-short: three minutes)
	go -C attack run ./cmd/attack $(ARGS)

stress: ## everything at once, under the race detector and with pools that check (ARGS="-for 10m")
	go -C attack run -race ./cmd/stress $(ARGS)
	go -C attack run -race -tags grpceager ./cmd/stress $(ARGS)
	go -C attack run -tags grpcpoison,grpceager ./cmd/stress $(ARGS)

.PHONY: simulate mutate
simulate: ## run histories that a seed decides, and look for one that is wrong (ARGS="-for 20s -seed N")
	go run ./internal/simulation/run $(ARGS)

.PHONY: crossing
crossing: ## the same with the published module at one end, which decides for itself (ARGS="-for 20s -seed N")
	go -C attack run ./cmd/crossing $(ARGS)

mutate: ## put faults into the code and count those that the simulation finds (ARGS="-run windows -tests missed")
	go run ./internal/simulation/mutations $(ARGS)

bench: ## measure this module and the published one in turn, and print ratios
	go -C benchmark run ./cmd/bench $(ARGS)

bench-smoke: ## run every benchmark of `go test -bench` for a few rounds: do they still work?
	go test -run '^$$' -bench . -benchtime 20x -timeout 5m $(BENCHED)

apicheck: $(BIN)/apidiff ## compare the API with the published module's
	tools/apicheck.sh $(BIN)/apidiff $(PUBLISHED)

.PHONY: upgrade
upgrade: $(BIN)/apidiff ## list what another release asks for (VERSION=vX.Y.Z, FROM=vX.Y.Z, ARGS='-grfc FOLDER')
	go run ./tools/upgrade -apidiff $(BIN)/apidiff $(FROM:%=-from %) $(ARGS) $(VERSION)

.PHONY: vuln
vuln: $(BIN)/govulncheck ## look for known vulnerabilities in what this module uses (VULNDB: another database)
	$(BIN)/govulncheck $(VULNDB:%=-db %) ./...

interop: ## run the interoperability cases against the published module, both ways
	go run ./interop/matrix

parity: ## run the probes with this module and the published one, and compare what they print
	cd parity && go run . $(ARGS)

polyglot: ## run them against implementations in other languages, and through proxies (ARGS='-run grpcio')
	go run ./interop/polyglot $(ARGS)

.PHONY: h2spec
h2spec: ## run the conformance suite of HTTP/2 against a server (ARGS=-v)
	go run ./interop/h2spec $(ARGS)

thirdparty: ## run other projects' tests against this module (ARGS=-race, ARGS=-published, ...)
	go run ./thirdparty/suites $(ARGS)
	go run ./thirdparty/grpcurl

.PHONY: thirdparty-telemetry
thirdparty-telemetry: ## read metrics from Prometheus' exporter, and traces from OpenTelemetry's collector
	go -C thirdparty/telemetry test -count=1 ./...

.PHONY: thirdparty-idle thirdparty-idle-published
thirdparty-idle: ## measure idle connections in etcd and behind wrappers (ARGS='-n 1000 -run cmux')
	go -C thirdparty/etcd run ./idle $(ARGS)

thirdparty-idle-published: ## the same with the published module
	@mkdir -p $(BIN)
	cp thirdparty/etcd/go.mod $(BIN)/idle.mod && cp thirdparty/etcd/go.sum $(BIN)/idle.sum
	go mod edit -dropreplace=google.golang.org/grpc $(BIN)/idle.mod
	go -C thirdparty/etcd run -tags published -mod=mod -modfile=$(BIN)/idle.mod ./idle $(ARGS)

proto: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc ## generate code from proto/
	cd proto && PATH="$(BIN):$$PATH" buf lint && PATH="$(BIN):$$PATH" buf generate

tidy: ## tidy every module
	go mod tidy
	@set -e; for m in $(NESTED); do (cd $$m && go mod tidy); done

tidy-check: ## fail if a module isn't tidy, or a program was checked in
	@git diff --numstat $$(git hash-object -t tree /dev/null) HEAD | awk '$$1 == "-" { print "binary file: " $$3; bad = 1 } END { exit bad }'
	go mod tidy -diff
	@set -e; for m in $(NESTED); do echo "== $$m"; (cd $$m && go mod tidy -diff); done

vet-all: ## vet everything, tests too, for the systems that are not run here
	go -C tools/vet run . -C $(CURDIR) $(FOREIGN)
	go -C tools/vet run . -C $(CURDIR) -tags grpctrace -packages '. ./experimental/nettrace' $(FOREIGN)
	go -C tools/vet run . -C $(CURDIR)/attack linux/386 # its numbers are those of frames, which have 32 bits

.PHONY: systems
systems: ## run tests on other processors and systems, by qemu-user and Wine (ARGS=-short)
	tools/systems/run.sh $(ARGS)

clean: ## remove built tools and results
	rm -rf $(BIN) out

# A tool is built anew when its version above changes: the stamp holds the version.
define tool
$(BIN)/$(1): $(BIN)/.$(1)-$(lastword $(subst @, ,$(2)))
$(BIN)/.$(1)-$(lastword $(subst @, ,$(2))):
	@mkdir -p $(BIN) && rm -f $(BIN)/.$(1)-*
	GOBIN=$(BIN) GOOS= GOARCH= GOFLAGS=-buildvcs=false go install $(2)
	@touch $$@
endef
$(eval $(call tool,golangci-lint,$(GOLANGCI_LINT)))
$(eval $(call tool,buf,$(BUF)))
$(eval $(call tool,protoc-gen-go,$(PROTOC_GEN_GO)))
$(eval $(call tool,protoc-gen-go-grpc,$(PROTOC_GEN_GO_GRPC)))
$(eval $(call tool,apidiff,$(APIDIFF)))
$(eval $(call tool,govulncheck,$(GOVULNCHECK)))
