// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// abroad is a system other than this machine's, and the command that runs its programs here.
// The zero value means that there is none.
type abroad struct {
	system  string // GOOS/GOARCH
	command []string
}

func parseAbroad(s string) (a abroad) {
	if f := strings.Fields(s); len(f) > 0 {
		a = abroad{f[0], f[1:]}
	}
	return a
}

// pairs returns the pairs to run if the command line names none.
func (a abroad) pairs() string {
	if a.system == "" {
		return defaultPairs
	}
	return foreignPairs
}

// transports returns the transports that both ends have. Wine has no unix sockets.
func (a abroad) transports() []transport {
	if !strings.HasPrefix(a.system, "windows/") {
		return transports()
	}
	return slices.DeleteFunc(transports(), func(t transport) bool { return t.network == "unix" })
}

// limit returns the time limit for something whose limit is d on this machine's own system. It
// is longer if there is another system, because its programs are emulated.
func (a abroad) limit(d time.Duration) time.Duration {
	if a.system == "" {
		return d
	}
	return 5 * d
}

// run returns the command that runs a program of an implementation.
func (a abroad) run(ctx context.Context, impl, program string, args ...string) *exec.Cmd {
	words := append([]string{program}, args...)
	if impl == foreign {
		words = slices.Concat(a.command, words)
	}
	return exec.CommandContext(ctx, words[0], words[1:]...)
}
