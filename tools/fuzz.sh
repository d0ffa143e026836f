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

targets=0
failed=()
for dir in $(grep -rlE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*\(' . | xargs -r -n1 dirname | sort -u); do
	# The binary itself knows which targets this system builds.
	names=$(cd "$dir" && go test -list '^Fuzz' . | grep '^Fuzz' || true)
	for name in $names; do
		targets=$((targets + 1))
		echo "== $dir $name"
		if ! (cd "$dir" && go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 10x -parallel "$workers" .); then
			failed+=("$dir $name")
		fi
	done
done

for f in ${failed[@]+"${failed[@]}"}; do
	echo "FAIL $f"
done
echo "$((targets - ${#failed[@]})) fuzz targets passed, ${#failed[@]} failed"
((${#failed[@]} == 0))
