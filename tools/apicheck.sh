#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the API of the packages in tools/api-packages.txt with that of a published
# release, and fails where a program built against the release would not build here.
#
#   tools/apicheck.sh <apidiff> <release> [-all]
#
# With -all, packages that are marked pending count like the others.
set -euo pipefail

apidiff=$1 release=$2 all=${3:-}
module=google.golang.org/grpc
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A module that requires the release; only there do the import paths mean the release.
mkdir "$scratch/release"
cd "$scratch/release"
packages=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e '/^pending /!s/^/strict /' "$root/tools/api-packages.txt")
go mod init apicheck >/dev/null 2>&1
awk -v m="$module" -v r="$release" '{ sub(/^\.$/, "", $2); print m ($2 ? "/" : "") $2 "@" r }' <<<"$packages" |
	xargs go get >/dev/null

passed=0 failed=0 pending=0
while read -r state pkg; do
	if [[ $state == pending && $all != -all ]]; then
		strict=
	else
		strict=yes
	fi
	path=$module/$pkg
	path=${path%/.}
	if ! "$apidiff" -w "$scratch/export" "$path"; then
		echo "FAIL    $path: the release has no such package"
		failed=$((failed + 1))
		continue
	fi
	if ! changes=$(cd "$root" && "$apidiff" -incompatible "$scratch/export" "$path" 2>&1); then
		changes="can't be loaded here: $changes"
	fi
	if [[ -z $changes ]]; then
		passed=$((passed + 1))
		[[ $state == pending ]] && echo "whole   $path (no longer pending)"
	elif [[ -n $strict ]]; then
		failed=$((failed + 1))
		echo "FAIL    $path"
		sed 's/^/        /' <<<"$changes"
	else
		pending=$((pending + 1))
		echo "pending $path ($(grep -c '^- ' <<<"$changes" || true) changes)"
	fi
done <<<"$packages"

echo "$passed packages compatible, $failed not, $pending pending"
((failed == 0))
