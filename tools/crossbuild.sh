#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Vets all packages and their tests for another system. For one of 32 bits it also compiles
# them, without linking: the type checker knows what lacks, not all of what does not fit.
#
#   tools/crossbuild.sh linux/386
set -euo pipefail

export GOOS=${1%/*} GOARCH=${1#*/} CGO_ENABLED=0
go vet ./...
go vet -tags grpctrace . ./experimental/nettrace
if [[ $GOARCH == 386 ]]; then
	# Asking for export data compiles each package and its test variants.
	go list -test -export -f '{{.Export}}' ./... >/dev/null
	go -C attack vet ./... # its numbers are those of frames, which have 32 bits
fi
