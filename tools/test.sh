#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh FLAG... PACKAGE... is `go test`, but packages that fail are tested once more, one
# at a time: on a small machine that does other things, a test can run out of its time.
# One that passes only then is named as unsteady. Races and crashes are never a matter of
# time: they fail at once.
set -uo pipefail

out=$(mktemp)
trap 'rm -f "$out"' EXIT
go test "$@" 2>&1 | tee "$out" && exit 0
grep -qE '\[(build|setup) failed\]|^WARNING: DATA RACE|^fatal error: ' "$out" && exit 1
grep -E '^panic: ' "$out" | grep -qv 'test timed out' && exit 1
failed=()
while read -r package; do
	failed+=("$package")
done < <(awk '$1 == "FAIL" && $2 ~ /\// {print $2}' "$out" | sort -u)
((${#failed[@]} > 0)) || exit 1
flags=()
for arg in "$@"; do
	[[ $arg == -* ]] && flags+=("$arg")
done
echo "== once more: ${failed[*]}"
go test ${flags[@]+"${flags[@]}"} -count=1 -p 1 "${failed[@]}" || exit 1
echo "== unsteady: ${failed[*]}"
