// SPDX-License-Identifier: Apache-2.0

// Package leakcheck makes tests fail if they leave goroutines of this module behind, or
// do not return buffers to the default pool.
package leakcheck

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/internal/mem"
)

// patience is how long goroutines that were told to end may take.
const patience = 10 * time.Second

// Main runs the tests of a package, and fails if goroutines of this module or buffers of the
// default pool are left afterwards. Use it as TestMain:
//
//	func TestMain(m *testing.M) { leakcheck.Main(m) }
//
// A goroutine does not count as a leak if a function in forever started it or is on its
// stack: such goroutines are meant to stay until the process ends. The names are as in a
// stack trace, such as "google.golang.org/grpc/internal/x.(*y).run". Main does not return.
func Main(m *testing.M, forever ...string) {
	os.Exit(run(m.Run, os.Stderr, patience, forever))
}

// run returns the exit code: that of the tests, or 1 if the tests passed but leaked.
func run(tests func() int, out io.Writer, limit time.Duration, forever []string) int {
	before := take(forever)
	if code := tests(); code != 0 {
		return code // a test that failed may not have cleaned up
	}
	if leak := before.await(limit); leak != "" {
		fmt.Fprintf(out, "leakcheck: left behind by the tests:\n\n%s", leak)
		return 1
	}
	return 0
}

// Check makes a test fail if it leaves goroutines or lent buffers that did not exist when
// Check was called. It compares when the test, and the cleanups that were registered after
// Check, have ended. Everything that happens in the process meanwhile counts, so Check is
// not for tests that run in parallel with others. For forever see [Main].
func Check(t testing.TB, forever ...string) {
	t.Helper()
	check(t, patience, forever)
}

func check(t testing.TB, limit time.Duration, forever []string) {
	t.Helper()
	before := take(forever)
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			return
		}
		if leak := before.await(limit); leak != "" {
			t.Errorf("leakcheck: left behind by the test:\n\n%s", leak)
		}
	})
}

func take(forever []string) snapshot {
	s := snapshot{
		goroutines: make(map[string]bool),
		buffers:    mem.Default().Stats().Buffers,
		forever:    forever,
	}
	for _, g := range others() {
		s.goroutines[g.id] = true
	}
	return s
}
