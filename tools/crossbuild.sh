#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Vets and compiles all packages and their tests for another system, without linking.
#
#   tools/crossbuild.sh linux/386
set -euo pipefail

export GOOS=${1%/*} GOARCH=${1#*/} CGO_ENABLED=0
go vet ./...
go vet -tags grpctrace . ./experimental/nettrace
# Asking for export data compiles each package and its test variants.
go list -test -export -f '{{.Export}}' ./... >/dev/null
