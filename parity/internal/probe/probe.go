// SPDX-License-Identifier: Apache-2.0

// Package probe runs probes: small functions that print what a program can notice of the
// gRPC module it was built with. What they print must not depend on time, ports, addresses
// of memory or the order of goroutines, so that two modules can be compared line by line.
package probe

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Probe is one named observation.
type Probe struct {
	Name string
	Run  func(*P)
	// Alone gives it a process of its own: it changes what a process has one of, or
	// looks at all of it.
	Alone bool
	// Env are environment variables, NAME=value, of its process. They imply Alone.
	Env []string
	// Fewer says that lines which the published module alone prints are no difference: each
	// line is something better not seen.
	Fewer bool
	// Limit in place of the common one.
	Limit time.Duration
}

// Own says whether the probe needs a process of its own.
func (p Probe) Own() bool { return p.Alone || len(p.Env) > 0 }

// Limit is how long a probe may run before it is reported as hanging. Calls inside get
// three quarters of it, so that a call that hangs is reported by its own status.
const Limit = 8 * time.Second

// patience is by how much longer than its limit a probe on a busy machine may take: the limit
// passes while nothing happens, and this bounds it where something always does.
const patience = 4

// A P is what a probe prints to. Its methods may be called from several goroutines; their
// lines are then in the order of the calls.
type P struct {
	ctx context.Context

	mu       sync.Mutex
	lines    []string
	cleanups []func()
}

// Context ends some time before the probe's limit.
func (p *P) Context() context.Context { return p.ctx }

// Printf adds what it formats, line by line.
func (p *P) Printf(format string, args ...any) {
	text := scrub(fmt.Sprintf(format, args...))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
}

// OneOf adds a line that stands for all outcomes, if what was seen is one of them, and what was seen
// otherwise: the published module itself decides between them by chance.
func (p *P) OneOf(label, seen string, outcomes ...string) {
	if slices.Contains(outcomes, scrub(seen)) {
		seen = "one of " + strings.Join(outcomes, " | ")
	}
	p.Printf("%s: %s", label, seen)
}

// Cleanup calls f when the probe has ended, the last one first. What it does is not
// waited for longer than the probe's limit.
func (p *P) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}

// scrubbers take away what differs from run to run, or by intent.
var scrubbers = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]|localhost):[1-9][0-9]{3,4}\b`), "$1:PORT"},
	{regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`), "0xPTR"},
	{regexp.MustCompile(`grpc-go/[0-9][0-9A-Za-z.-]*`), "grpc-go/VERSION"},
	{regexp.MustCompile(`/[A-Za-z0-9_./-]+\.go:[0-9]+`), "FILE:LINE"},
	// Where JSON does not fit is a name inside the module.
	{regexp.MustCompile(`Go struct field [A-Za-z_]*\.`), "Go struct field TYPE."},
	{regexp.MustCompile(`(Go value of type|of type \[\]|TYPE\.[A-Za-z.]+ of type) ?(struct \{.*\}|[a-z]+\.[A-Za-z]+)`), "$1 TYPE"},
}

func scrub(s string) string {
	for _, r := range scrubbers {
		s = r.pattern.ReplaceAllString(s, r.with)
	}
	// Package protobuf prints a space, a no-break space or two, by design not the same in
	// each program.
	return strings.NewReplacer("\u00a0", " ", `\u00a0`, " ", "%C2%A0", " ", "  ", " ").Replace(s)
}

// Do runs the probe and returns its lines; limit is that of probes without one of their own. A panic and a hang become a line; the goroutine
// of a probe that hangs is left behind.
func Do(probe Probe, limit time.Duration) []string {
	limit = cmp.Or(probe.Limit, limit)
	bound, cancel := context.WithTimeout(context.Background(), patience*limit)
	defer cancel()
	ctx, cancel := WithTimeout(bound, limit*3/4)
	defer cancel()
	p := &P{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.cleanup()
		defer p.recover()
		probe.Run(p)
	}()
	// Its own waits, each of which may take long, come first.
	late := newWait(limit, patience*patience*limit)
	defer late.stop()
	select {
	case <-done:
	case <-late.done:
		p.Printf("HANG")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// recover must be deferred itself.
func (p *P) recover() {
	switch r := recover().(type) {
	case nil:
	case runtime.Error:
		p.Printf("PANIC (runtime): %v", r)
	default:
		p.Printf("PANIC: %v", r)
	}
}

func (p *P) cleanup() {
	p.mu.Lock()
	cleanups := p.cleanups
	p.mu.Unlock()
	for i := len(cleanups) - 1; i >= 0; i-- {
		cleanups[i]()
	}
}
