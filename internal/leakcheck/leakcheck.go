// SPDX-License-Identifier: Apache-2.0

// Package leakcheck lets tests fail if they leave goroutines behind or buffers out of
// the default pool.
package leakcheck

import (
	"fmt"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/internal/mem"
)

// patience is how long goroutines that were told to end may take.
const patience = 10 * time.Second

// Main runs the tests of a package, and fails if afterwards goroutines of this module or
// buffers are left. Use it as TestMain. It does not return.
func Main(m *testing.M) {
	before := take()
	code := m.Run()
	if code == 0 {
		if leak := before.await(patience); leak != "" {
			fmt.Fprintln(os.Stderr, "leakcheck: after all tests:\n"+leak)
			code = 1
		}
	}
	os.Exit(code)
}

// Check fails the test if, when it and its cleanups registered later have ended, there
// are goroutines or lent buffers which were not there at the call. It is not for
// tests that run in parallel with others.
func Check(t testing.TB) {
	t.Helper()
	before := take()
	t.Cleanup(func() {
		t.Helper()
		if leak := before.await(patience); leak != "" {
			t.Error("leakcheck:\n" + leak)
		}
	})
}

// snapshot is what exists at one moment.
type snapshot struct {
	goroutines map[string]bool // by id
	buffers    int64
}

func take() snapshot {
	s := snapshot{goroutines: map[string]bool{}, buffers: mem.Default().Stats().Buffers}
	for _, g := range stacks() {
		s.goroutines[g.id] = true
	}
	return s
}
