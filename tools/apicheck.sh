#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the API of this module with that of a published release, but for the packages in
# tools/api-left-out.txt, and fails where a program built against the release would not build
# here.
#
#   tools/apicheck.sh <apidiff> <release>
set -euo pipefail

apidiff=$1 release=$2
module=google.golang.org/grpc
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Two modules that require the release; the second has this folder in its place. Only in such
# modules do the import paths mean what is to be compared.
for side in release here; do
	mkdir "$scratch/$side"
	cd "$scratch/$side"
	go mod init apicheck >/dev/null 2>&1
	go mod edit -go="$(go -C "$root" list -m -f '{{.GoVersion}}')" -require="$module@$release"
done
go mod edit -replace="$module=$root"

export GOFLAGS="${GOFLAGS:-} -mod=mod"
cd "$scratch/release"
"$apidiff" -m -w "$scratch/export" "$module"
cd "$scratch/here"
"$apidiff" -m -incompatible "$scratch/export" "$module" >"$scratch/changes" 2>"$scratch/said" ||
	{ cat "$scratch/said" && exit 1; }

# A change is "- package <path>: removed" or "- ./<path>.<name>: <what>", with "./" for the root.
sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e 's/[.]/[.]/g' -e 's,/\[\.\]\[\.\]\[\.\]$,(/[^.:]*)?,' \
	-e "s,.*,^- (package $module/|\./)&[.:]," "$root/tools/api-left-out.txt" >"$scratch/left-out"
if grep '^- ' "$scratch/changes" | grep -vE -f "$scratch/left-out"; then
	echo "programs that use these do not build here"
	exit 1
fi
packages=$(go list "$module/..." | grep -vc -e /internal/ -e '/internal$')
echo "nothing of $module@$release lacks or differs; there are $packages packages here"
