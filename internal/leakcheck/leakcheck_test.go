// SPDX-License-Identifier: Apache-2.0

package leakcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/mem"
)

// short is how long a check looks for leaks that stay.
const short = time.Millisecond

// recorder is a test whose end and whose errors the tests here see.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   bool
	errors   string
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.errors += fmt.Sprintf(format, args...)
}

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func waitHere(release <-chan struct{}, started chan<- struct{}) {
	close(started)
	<-release
}

// leak starts a goroutine that stays until stop, which waits for nothing.
func leak() (stop func()) {
	release, started := make(chan struct{}), make(chan struct{})
	go waitHere(release, started)
	<-started
	return func() { close(release) }
}

func TestCheckFindsGoroutine(t *testing.T) {
	r := &recorder{TB: t}
	check(r, short, nil)
	stop := leak()
	r.end()
	if !strings.Contains(r.errors, "leakcheck.waitHere(") || !strings.Contains(r.errors, "leakcheck_test.go:") {
		t.Errorf("the leaked goroutine's stack is not in %q", r.errors)
	}
	stop()
}

func TestCheckWaitsForGoroutine(t *testing.T) {
	r := &recorder{TB: t}
	check(r, patience, nil)
	leak()()
	r.end()
	if r.failed {
		t.Errorf("a goroutine that ends was reported: %s", r.errors)
	}
}

func TestCheckFindsBuffer(t *testing.T) {
	r := &recorder{TB: t}
	check(r, short, nil)
	b := mem.Default().Get(10)
	r.end()
	mem.Default().Put(b)
	if !strings.Contains(r.errors, "default pool: 1, before 0") {
		t.Errorf("the lent buffer is not in %q", r.errors)
	}
}

func TestCheckIgnores(t *testing.T) {
	stopEarlier := leak() // was there before the test
	r := &recorder{TB: t}
	check(r, short, []string{module + "/internal/leakcheck.waitHere"})
	stop := leak() // stays for ever, on purpose
	r.end()
	if r.failed {
		t.Errorf("reported: %s", r.errors)
	}
	stop()
	stopEarlier()
}

func TestCheckLeavesFailedTestAlone(t *testing.T) {
	r := &recorder{TB: t}
	check(r, short, nil)
	r.failed = true
	stop := leak()
	r.end()
	stop()
	if r.errors != "" {
		t.Errorf("reported: %s", r.errors)
	}
}

func TestRun(t *testing.T) {
	var stop func()
	tests := []struct {
		name     string
		tests    func() int
		code     int
		reported bool
	}{
		{"clean", func() int { return 0 }, 0, false},
		{"leaking", func() int { stop = leak(); return 0 }, 1, true},
		{"failing and leaking", func() int { stop = leak(); return 2 }, 2, false},
	}
	for _, tt := range tests {
		var out strings.Builder
		stop = func() {}
		if code := run(tt.tests, &out, short, nil); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.name, code, tt.code)
		}
		if reported := strings.Contains(out.String(), "waitHere"); reported != tt.reported {
			t.Errorf("%s: output %q", tt.name, out.String())
		}
		stop()
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, stack string
		ours        bool
	}{
		{"runs our code", "goroutine 7 [select]:\ngoogle.golang.org/grpc/internal/x.run(...)\n\t/x.go:1 +0x1\n", true},
		{"root package", "goroutine 7 [select]:\ngoogle.golang.org/grpc.(*Server).Serve(0x1)\n\t/x.go:1 +0x1\n", true},
		{"external test", "goroutine 7 [select]:\ngoogle.golang.org/grpc_test.f()\n\t/x.go:1 +0x1\n", true},
		{"in a bubble", "goroutine 7 [select, synctest bubble 3]:\ngoogle.golang.org/grpc/mem.f()\n\t/x.go:1\n", true},
		{"started by our code", "goroutine 7 [IO wait]:\nnet.f()\n\t/n.go:1\ncreated by google.golang.org/grpc/internal/x.run in goroutine 1\n\t/x.go:2\n", true},
		{"started by a test", "goroutine 7 [IO wait]:\nnet.f()\n\t/n.go:1\ncreated by google.golang.org/grpc/mem.TestX in goroutine 1\n\t/x.go:2\n", true},
		{"another module", "goroutine 7 [IO wait]:\ngoogle.golang.org/grpcother.f()\n\t/src/google.golang.org/grpc/n.go:1\n", false},
		{"a test", "goroutine 7 [chan receive]:\ntesting.(*T).Run(0x1)\n\t/t.go:1\ngoogle.golang.org/grpc/mem.TestX(0x1)\n\t/x.go:1\ntesting.tRunner(0x1, 0x2)\n\t/t.go:2\ncreated by testing.(*T).Run in goroutine 1\n\t/t.go:3\n", false},
		{"nothing", "", false},
	}
	for _, tt := range tests {
		g, ours := parse(tt.stack)
		if ours != tt.ours || ours && g.id != "7" {
			t.Errorf("%s: ours %v, id %q", tt.name, ours, g.id)
		}
	}
}
