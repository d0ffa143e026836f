#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs this module on processors and systems that this machine is not: arm64 and s390x
# under qemu-user, 386 by the processor itself, Windows under Wine: the tests of the ground,
# the interoperability cases against programs of this machine's own, both ways, and what
# idle connections cost there. It installs nothing; what is missing is said, and skipped.
#
#   tools/systems/run.sh [-short] [-only s390x,arm64,386,windows,native] [-p PACKAGE]...
#
# -short is for a check's budget: fewer packages and cases, no idle connections, which are
# waited for, and what it has no time for is named. Debian's packages are qemu-user, wine,
# wine64 and gcc-mingw-w64-x86-64-win32. What can't pass somewhere for a reason of the
# emulator's stands in skips.txt. The last lines are the tables.
set -uo pipefail
cd "$(dirname "$0")/../.."

ground=(./internal/park ./internal/readyreader ./internal/transport/h2/hpack ./internal/transport/grpcwire)
all=("${ground[@]}" ./mem ./internal/transport/h2 ./internal/transport ./internal/tlsconn ./internal/altsconn)
only=386,native,s390x,arm64,windows
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
packages=("${all[@]}") cases=all ends=100 limit=30m
[[ -n $short ]] && packages=("${ground[@]}") cases=empty_unary,large_unary,ping_pong,custom_metadata limit=2m
((${#picked[@]} > 0)) && packages=("${picked[@]}")

# How many seconds -short may have used when it begins something else.
readonly budget=130

work=$(mktemp -d)
service='' alts=''
cleanup() {
	[[ -n $service ]] && kill "$service" 2>/dev/null
	[[ -n ${WINEPREFIX:-} && $WINEPREFIX == "$work"/* ]] && wineserver -k 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
export CGO_ENABLED=0
rows=() failures=0 missing=() left=()
systems=()                      # in the order of the last table
declare -A at how passed run costs # of a system; costs also by kind of connection

# row SYSTEM WHAT PASSED SKIPPED FAILED SECONDS
row() {
	rows+=("$(printf '%-16s %-34s %8s %8s %8s %6ss' "$@")")
	echo "${rows[-1]}"
}

count() { grep -cE "$1" "$2"; }

# failed FILE... says so, with the ends of these.
failed() {
	failures=$((failures + 1))
	echo "== FAIL ${rows[-1]}"
	for file; do
		grep -vE '^=== |^ *--- (PASS|SKIP)' "$file" | tail -n 60
	done
}

# late WHAT reports whether there is no time left for it, and notes that.
late() {
	[[ -z $short ]] || ((SECONDS < budget)) && return 1
	left+=("$1")
}

# bounded COMMAND... ends what hangs, with status 124.
bounded() { timeout -s INT -k 10 "$limit" "$@"; }

# slow STATUS WHAT reports whether something was ended for want of time, which is no failure
# where there is little of it, and notes that.
slow() {
	ended "$1" || return
	left+=("$2, not done in $limit")
}

ended() { [[ -n $short ]] && (($1 == 124 || $1 == 137)); }

# skipped SYSTEM PACKAGE is a pattern of the tests that skips.txt has for these.
skipped() {
	awk -v s="$1" -v p="$2" '!/^#/ && $1 == s && $2 == p {print $3}' tools/systems/skips.txt | paste -sd '|'
}

# run_tests SYSTEM GOOS/GOARCH COMMAND... tests the packages as programs that COMMAND runs.
run_tests() {
	local system=$1 target=$2 package program log=$work/log start=$SECONDS flags skip status
	shift 2
	late "tests of $system" && return
	mkdir -p "$work/$system"
	if ! GOOS=${target%/*} GOARCH=${target#*/} go test -c -vet=off -o "$work/$system/" "${packages[@]}" >"$log" 2>&1; then
		row "$system" "tests don't build" 0 0 1 $((SECONDS - start))
		failed "$log"
		return
	fi
	for package in "${packages[@]}"; do
		late "$package on $system" && continue
		start=$SECONDS
		program=$work/$system/$(basename "$package").test
		[[ -e $program.exe ]] && program+=.exe
		flags=(-test.v -test.short -test.timeout 0)
		skip=$(skipped "$system" "$package")
		[[ -n $skip ]] && flags+=(-test.skip "^($skip)\$")
		for _ in first again; do # an emulator's machine may have been busy
			status=0
			(cd "$package" && bounded "$@" "$program" "${flags[@]}") >"$log" 2>&1 </dev/null || status=$?
			tr -d '\r' <"$log" >"$log.text"
			((status == 0)) || slow $status "$package on $system" && break
			echo "$system $package: $(grep -E '^--- FAIL' "$log.text" | paste -sd ' ')"
		done
		row "$system" "$package" "$(count '^--- PASS' "$log.text")" "$(count '^--- SKIP' "$log.text")" \
			"$(count '^--- FAIL' "$log.text")" $((SECONDS - start))
		tally "$system" "$(count '^--- PASS' "$log.text")" "$(count '^--- FAIL' "$log.text")"
		((status == 0)) || ended $status || failed "$log.text"
		rm -f "$program"
	done
}

# tally SYSTEM PASSED FAILED
tally() {
	passed[$1]=$((${passed[$1]:-0} + $2))
	run[$1]=$((${run[$1]:-0} + $2 + $3))
}

# build GOOS/GOARCH NAME MODULE FOLDER builds a program.
build() {
	(cd "$3" && GOOS=${1%/*} GOARCH=${1#*/} go build -o "$work/$2" "./$4") && return
	failures=$((failures + 1))
	return 1
}

# run_pairs SYSTEM GOOS/GOARCH COMMAND... runs the interoperability cases with our client
# there and our server here, and the other way round.
run_pairs() {
	local system=$1 target=$2 log=$work/log start=$SECONDS status=0 good=0 bad=0
	shift 2
	((${#picked[@]} > 0)) && return
	late "interoperability of $system" && return
	[[ -e $work/matrix ]] || build "$here" matrix . interop/matrix || return
	bounded "$work/matrix" -foreign "$target $*" -case "$cases" >"$log" 2>&1 </dev/null || status=$?
	slow $status "interoperability of $system" && return
	read -r good bad < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log") || bad=1
	row "$system" "interoperability, both ways" "${good:-0}" 0 "${bad:-1}" $((SECONDS - start))
	tally "$system" "${good:-0}" "${bad:-1}"
	((status == 0)) || failed "$log"
}

# google COMMAND... is on a machine whose product name is Google's, without which there is no
# ALTS, in a mount namespace of its own.
google=$work/google
cat >"$google" <<'END'
#!/bin/sh
name=/sys/class/dmi/id/product_name
if [ "$1" != mounted ]; then
	[ "$(id -u)" = 0 ] || user=--map-root-user
	exec unshare --mount $user "$0" mounted "$@"
fi
shift
set -e
if [ -e "$name" ]; then
	fake=$(mktemp)
	echo Google >"$fake"
	mount --bind "$fake" "$name"
	rm "$fake"
else
	mount -t tmpfs none /sys/class
	mkdir -p "${name%/*}"
	echo Google >"$name"
fi
exec "$@"
END
chmod +x "$google"

# serve_alts starts a handshaker service for tests, whose address is in $alts then.
serve_alts() {
	[[ -n $alts ]] && return
	"$google" grep -q Google /sys/class/dmi/id/product_name 2>/dev/null || return
	build "$here" handshaker credentials/alts/interop handshaker || return
	mkfifo "$work/held" && exec 7<>"$work/held" # it ends with its input
	"$work/handshaker" <"$work/held" >"$work/handshaker.log" 2>&1 &
	service=$!
	for _ in $(seq 100); do
		alts=$(head -n 1 "$work/handshaker.log")
		[[ -n $alts ]] && break
		sleep 0.1
	done
}

# idle SYSTEM GOOS/GOARCH COMMAND... has connections of each kind idle there.
idle() {
	local system=$1 target=$2 kind parked of kb goroutines why start=$SECONDS status=0
	shift 2
	[[ -n $short ]] || ((${#picked[@]} > 0)) && return
	serve_alts
	[[ -n $alts && $target != windows/* ]] && set -- "$google" "$@"
	build "$target" idle.exe . tools/systems/idle || return
	bounded "$@" "$work/idle.exe" -n "$ends" ${alts:+-handshaker "$alts"} >"$work/idle.log" 2>"$work/idle.err" </dev/null || status=$?
	while IFS=$'\t' read -r kind parked of kb goroutines why; do
		if [[ $parked == - ]]; then
			costs[$system,$kind]=none
			echo "$system, $kind: $why"
		elif [[ $parked == "$of" ]]; then
			costs[$system,$kind]="parked, $kb KB"
		elif [[ $parked == 0 ]]; then
			costs[$system,$kind]="$goroutines goroutines, $kb KB"
		else
			costs[$system,$kind]="$parked of $of parked, $kb KB"
		fi
	done < <(tr -d '\r' <"$work/idle.log")
	row "$system" "idle connections, kinds" "$(count . "$work/idle.log")" 0 $((status != 0)) $((SECONDS - start))
	((status == 0)) || failed "$work/idle.err"
}

# on SYSTEM GOOS/GOARCH HOW COMMAND... is all of it.
on() {
	local system=$1 target=$2
	systems+=("$system") at[$system]=$target how[$system]=$3
	shift 3
	run_tests "$system" "$target" "$@"
	run_pairs "$system" "$target" "$@"
	idle "$system" "$target" "$@"
}

wants() { [[ ,$only, == *,$1,* ]]; }

# emulated ARCH QEMU
emulated() {
	wants "$1" || return 0
	if ! command -v "$2" >/dev/null; then
		missing+=("$1: no $2 (Debian's package qemu-user)")
		return
	fi
	on "$1" "linux/$1" qemu-user "$2"
}

# Wine 8 lacks the one function of bcryptprimitives.dll that Go programs ask for. Its
# machine is Google's, for ALTS.
prefix() {
	export WINEPREFIX=$work/wine WINEARCH=win64 WINEDEBUG=-all
	{ wineboot -i || wine wineboot -i; } >/dev/null 2>&1
	local library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
	[[ -e $library ]] || x86_64-w64-mingw32-gcc -O1 -shared -o "$library" tools/systems/prng.c -ladvapi32 || return
	# The key is one of those that last as long as Wine's server, which has to stay: the one
	# that made the prefix would not.
	wineserver -k -w >/dev/null 2>&1
	wineserver -p >/dev/null 2>&1
	wine reg add 'HKLM\HARDWARE\DESCRIPTION\System\BIOS' /v SystemProductName /t REG_SZ /d Google /f >/dev/null 2>&1
	return 0
}

windows() {
	wants windows || return 0
	if ! command -v wine >/dev/null; then
		missing+=("windows: no wine (Debian's packages wine, wine64)")
	elif ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
		missing+=("windows: no x86_64-w64-mingw32-gcc (Debian's package gcc-mingw-w64-x86-64-win32)")
	elif ! prefix; then
		missing+=("windows: Wine's folder can't be made")
	else
		on windows windows/amd64 "$(wine --version 2>/dev/null)" wine
	fi
}

here=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
# What needs no emulator comes first: it takes the least time.
if [[ $here == linux/amd64 ]]; then
	wants 386 && on 386 linux/386 native env
else
	emulated 386 qemu-i386
fi
if wants native; then # its tests are `make test`
	systems+=(native) at[native]=$here how[native]=native
	idle native "$here" env
fi
emulated s390x qemu-s390x
emulated arm64 qemu-aarch64
windows

printf '\n%-16s %-34s %8s %8s %8s %7s\n' system what passed skipped failed time
((${#rows[@]} > 0)) && printf '%s\n' "${rows[@]}"
kinds=(tcp unix tls alts embedding-tcp own-tls reading-tcp reading-unix)
printf '\n| system | tests passed of run | '
printf '%s | ' "${kinds[@]}"
printf 'how |\n|%s\n' "$(printf -- '---|%.0s' 1 2 3 "${kinds[@]}")"
for system in ${systems[@]+"${systems[@]}"}; do
	tests='`make test`'
	[[ $system != native ]] && tests=${run[$system]:+${passed[$system]} of ${run[$system]}}
	printf '| %s | %s | ' "${at[$system]}" "$tests"
	for kind in "${kinds[@]}"; do
		printf '%s | ' "${costs[$system,$kind]:--}"
	done
	printf '%s |\n' "${how[$system]}"
done
for m in ${missing[@]+"${missing[@]}"}; do
	echo "missing: $m"
done
for l in ${left[@]+"${left[@]}"}; do
	echo "no time for: $l"
done
echo "$failures failed, ${#missing[@]} missing, ${#left[@]} left out, $SECONDS s"
((failures == 0))
