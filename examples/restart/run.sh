#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Replaces the hub's server under load, looks at its debug page meanwhile, and fails if an event was lost.
#
#   ./run.sh                       3 restarts, 1,000 followers
#   ./run.sh -restarts 10 -every 5s
#
# It takes Go and a system with SO_REUSEPORT (Linux, macOS, BSD); nothing else.
set -euo pipefail
cd "$(dirname "$0")"

page=${PAGE:-localhost:6060}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/restart" .
"$dir/restart" -debug "$page" "$@" &
trial=$!

# The page of the first server: how many connections and RPCs it has.
if command -v curl >/dev/null; then
	for _ in $(seq 50); do
		if curl -sf -H 'Accept: application/json' "http://$page/debug/grpc" >"$dir/page.json" && grep -q '"rpcs"' "$dir/page.json"; then
			echo "debug page: $(grep -m1 -o '"connections": [0-9]*' "$dir/page.json"), $(grep -c '"method"' "$dir/page.json") of its oldest RPCs"
			break
		fi
		sleep 0.1
	done
fi
wait "$trial" # its status says whether all followers have seen every event once
