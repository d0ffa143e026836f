#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target below the current folder, one after the other.
#
#   tools/fuzz.sh [time]        time is what -fuzztime takes: 10s, 1m, 5000x
set -euo pipefail

fuzztime=${1:-10s}
# Minimizing what is merely new can take a minute at a time; it is cut short.
# Each worker keeps its own copy of what it found; two are enough for a check.
workers=${FUZZWORKERS:-2}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(go env GOCACHE)/fuzz # where `go test -fuzz` keeps what it found

# run DIR NAME runs a target of the binary, which `go test -fuzz` would link for each anew.
run() {
	cd "$1" && "$work/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$fuzztime" \
		-test.fuzzminimizetime 10x -test.parallel "$workers" -test.fuzzcachedir "$found/$(go list .)"
}

targets=0
failed=()
for dir in $(grep -rlE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*\(' . | xargs -r -n1 dirname | sort -u); do
	if ! (cd "$dir" && go test -c -fuzz . -o "$work/test" .); then
		targets=$((targets + 1)) failed+=("$dir")
		continue
	fi
	# The binary itself knows which targets this system builds.
	for name in $(cd "$dir" && "$work/test" -test.list '^Fuzz'); do
		targets=$((targets + 1))
		echo "== $dir $name"
		(run "$dir" "$name") || failed+=("$dir $name")
	done
done

for f in ${failed[@]+"${failed[@]}"}; do
	echo "FAIL $f"
done
echo "$((targets - ${#failed[@]})) fuzz targets passed, ${#failed[@]} failed"
((${#failed[@]} == 0))
