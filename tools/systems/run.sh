#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs this module's tests on processors and systems that this machine is not: arm64 and
# s390x under qemu-user, 386 by the processor itself, Windows under Wine. It installs
# nothing; what is missing is said, and skipped.
#
#   tools/systems/run.sh [-short] [-only arm64,386,s390x,windows] [-p PACKAGE]...
#
# -short is for a check's budget: the ground floor's packages alone. Debian's packages are
# qemu-user, wine64 and gcc-mingw-w64-x86-64-win32. What can't pass somewhere for a reason of
# the emulator's stands in skips.txt. The last lines are a table.
set -uo pipefail
cd "$(dirname "$0")/../.."

ground=(./internal/park ./internal/readyreader ./internal/transport/h2/hpack ./internal/transport/grpcwire)
all=("${ground[@]}" ./internal/transport/h2 ./internal/transport ./internal/tlsconn ./credentials/alts/internal/conn)
only=arm64,386,s390x,windows
short='' picked=()
while (($# > 0)); do
	case $1 in
	-short) short=yes ;;
	-only) only=$2 && shift ;;
	-p) picked+=("$2") && shift ;;
	*) echo "usage: $0 [-short] [-only SYSTEM,...] [-p PACKAGE]..." >&2 && exit 2 ;;
	esac
	shift
done
packages=("${all[@]}")
[[ -n $short ]] && packages=("${ground[@]}")
((${#picked[@]} > 0)) && packages=("${picked[@]}")

work=$(mktemp -d)
served=''
cleanup() {
	[[ -n $served ]] && kill "$served" 2>/dev/null
	[[ -n ${WINEPREFIX:-} && $WINEPREFIX == "$work"/* ]] && wineserver -k 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
export CGO_ENABLED=0
rows=() failures=0 missing=()

row() { rows+=("$(printf '%-16s %-34s %8s %8s %8s %6ss  %s' "$@")"); }

# skipped SYSTEM PACKAGE is a pattern of the tests that skips.txt has for these.
skipped() {
	awk -v s="$1" -v p="$2" '!/^#/ && $1 == s && $2 == p {print $3}' tools/systems/skips.txt | paste -sd '|'
}

# run_tests SYSTEM GOOS/GOARCH HOW COMMAND... tests the packages as programs that COMMAND runs.
run_tests() {
	local system=$1 target=$2 how=$3 package program log start ok flags skip
	shift 3
	for package in "${packages[@]}"; do
		program=$work/test.exe log=$work/log start=$SECONDS
		flags=(-test.v -test.short -test.timeout 15m)
		skip=$(skipped "$system" "$package")
		[[ -n $skip ]] && flags+=(-test.skip "^($skip)\$")
		ok=yes
		GOOS=${target%/*} GOARCH=${target#*/} go test -c -o "$program" "$package" >"$log" 2>&1 &&
			(cd "$package" && "$@" "$program" "${flags[@]}") >"$log" 2>&1 </dev/null || ok=no
		tr -d '\r' <"$log" >"$log.text"
		row "$system" "$package" "$(grep -cE '^--- PASS' "$log.text")" "$(grep -cE '^--- SKIP' "$log.text")" \
			"$(grep -cE '^--- FAIL' "$log.text")" $((SECONDS - start)) "$how"
		echo "${rows[-1]}"
		if [[ $ok == no ]]; then
			failures=$((failures + 1))
			echo "== FAIL $system $package"
			grep -vE '^=== |^ *--- (PASS|SKIP)' "$log.text" | tail -n 60
		fi
	done
}

# pair NAME SERVER CLIENT HOW runs the interoperability cases of one pair of programs.
pair() {
	local name=$1 how=$4 start=$SECONDS addr='' log=$work/pair.log
	local -a server client
	read -ra server <<<"$2"
	read -ra client <<<"$3"
	# Its standard input stays open until the pair is done.
	"${server[@]}" -addr 127.0.0.1:0 >"$work/server.log" 2>&1 </dev/null &
	served=$!
	for _ in $(seq 300); do
		addr=$(grep -oE '127\.0\.0\.1:[0-9]+' "$work/server.log" | head -n 1)
		[[ -n $addr ]] && break
		sleep 0.1
	done
	local ok=yes
	"${client[@]}" -addr "$addr" -timeout 60s >"$log" 2>&1 </dev/null || ok=no
	kill "$served" 2>/dev/null
	wait "$served" 2>/dev/null
	served=''
	tr -d '\r' <"$log" >"$log.text"
	row "$name" "interop" "$(grep -c '^ok' "$log.text")" "$(grep -c '^skip' "$log.text")" "$(grep -c '^FAIL' "$log.text")" $((SECONDS - start)) "$how"
	echo "${rows[-1]}"
	if [[ $ok == no ]]; then
		failures=$((failures + 1))
		tail -n 30 "$log.text" "$work/server.log"
	fi
}

# run_pairs SYSTEM GOOS/GOARCH HOW COMMAND... is our programs here against those there, both ways.
run_pairs() {
	local system=$1 target=$2 how=$3
	shift 3
	[[ -n $short || ${#picked[@]} -gt 0 ]] && return
	for program in client server; do
		go build -o "$work/$program" "./interop/$program" || return
		GOOS=${target%/*} GOARCH=${target#*/} go build -o "$work/$program.exe" "./interop/$program" || return
	done
	pair "$system>amd64" "$work/server" "$* $work/client.exe" "$how"
	pair "amd64>$system" "$* $work/server.exe" "$work/client" "$how"
}

wants() { [[ ,$only, == *,$1,* ]]; }

# emulated ARCH QEMU
emulated() {
	wants "$1" || return 0
	if ! command -v "$2" >/dev/null; then
		missing+=("$1: no $2 (Debian's package qemu-user)")
		return
	fi
	run_tests "$1" "linux/$1" qemu-user "$2"
	run_pairs "$1" "linux/$1" qemu-user "$2"
}

emulated arm64 qemu-aarch64
emulated s390x qemu-s390x
if wants 386; then
	if [[ $(uname -m) == x86_64 ]]; then
		run_tests 386 linux/386 native env
		run_pairs 386 linux/386 native env
	else
		emulated 386 qemu-i386
	fi
fi

# Wine 8 lacks the one function of bcryptprimitives.dll that Go programs ask for.
prefix() {
	export WINEPREFIX=$work/wine WINEARCH=win64 WINEDEBUG=-all
	wineboot -i >/dev/null 2>&1 || wine wineboot -i >/dev/null 2>&1
	local library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
	[[ -e $library ]] || x86_64-w64-mingw32-gcc -O1 -shared -o "$library" tools/systems/prng.c -ladvapi32
}
if wants windows; then
	if ! command -v wine >/dev/null; then
		missing+=("windows: no wine (Debian's packages wine, wine64)")
	elif ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
		missing+=("windows: no x86_64-w64-mingw32-gcc (Debian's package gcc-mingw-w64-x86-64-win32)")
	elif ! prefix; then
		missing+=("windows: Wine's folder can't be made")
	else
		run_tests windows windows/amd64 Wine wine
		run_pairs windows windows/amd64 Wine wine
	fi
fi

printf '\n%-16s %-34s %8s %8s %8s %7s  %s\n' system package passed skipped failed time how
((${#rows[@]} > 0)) && printf '%s\n' "${rows[@]}"
for m in ${missing[@]+"${missing[@]}"}; do
	echo "missing: $m"
done
echo "$failures failed, ${#missing[@]} missing"
((failures == 0))
