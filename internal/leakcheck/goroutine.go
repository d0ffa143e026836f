// SPDX-License-Identifier: Apache-2.0

package leakcheck

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc/internal/mem"
)

const module = "google.golang.org/grpc"

// goroutine is a goroutine that runs code of this module, or that such code started.
type goroutine struct {
	id    string
	stack string
}

// others returns all goroutines of this module except the caller's.
func others() []goroutine {
	dump := make([]byte, 256<<10)
	n := runtime.Stack(dump, true)
	for n == len(dump) { // the dump may be cut off
		dump = make([]byte, 2*len(dump))
		n = runtime.Stack(dump, true)
	}
	var ours []goroutine
	_, rest, _ := strings.Cut(string(dump[:n]), "\n\n") // the caller's stack comes first
	for stack := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		if g, ok := parse(stack); ok {
			ours = append(ours, g)
		}
	}
	return ours
}

// parse parses one goroutine's part of a stack dump. ours reports whether the goroutine is one
// of this module's.
func parse(stack string) (g goroutine, ours bool) {
	header, frames, _ := strings.Cut(stack, "\n")
	fields := strings.Fields(header) // goroutine 7 [running]:
	if len(fields) < 2 {
		return goroutine{}, false
	}
	for frame := range strings.Lines(frames) {
		switch frame = strings.TrimPrefix(frame, "created by "); {
		case strings.HasPrefix(frame, "testing.tRunner("), strings.HasPrefix(frame, "testing.(*M)."):
			return goroutine{}, false // a test or TestMain itself, not a goroutine that it started
		case inModule(frame):
			ours = true
		}
	}
	return goroutine{id: fields[1], stack: stack}, ours
}

// inModule reports whether a line of a stack names a function of this module. Lines with
// file names never match, because they begin with a tab.
func inModule(frame string) bool {
	rest, ok := strings.CutPrefix(frame, module)
	return ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "_test."))
}

// runs reports whether one of the functions is on the stack or started the goroutine.
func (g goroutine) runs(functions []string) bool {
	for _, f := range functions {
		if strings.Contains(g.stack, "\n"+f+"(") || strings.Contains(g.stack, "\ncreated by "+f+" ") {
			return true
		}
	}
	return false
}

// await returns "" as soon as nothing has leaked since the snapshot. If something is still left
// after limit, it returns a description. The end of a goroutine is not an event that one can
// wait for, so await polls, at first with short pauses.
func (s snapshot) await(limit time.Duration) string {
	deadline := time.Now().Add(limit)
	for pause := time.Duration(0); ; pause = min(2*pause+50*time.Microsecond, 50*time.Millisecond) {
		leak := s.compare()
		if leak == "" || !time.Now().Before(deadline) {
			return leak
		}
		if pause == 0 {
			runtime.Gosched()
			continue
		}
		<-time.After(pause)
	}
}

// compare describes the goroutines and buffers that have come into being since the snapshot and
// still exist. It returns "" if there are none.
func (s snapshot) compare() string {
	var out strings.Builder
	if lent := mem.Default().Stats().Buffers; lent != s.buffers {
		fmt.Fprintf(&out, "buffers lent by the default pool: %d, before %d\n\n", lent, s.buffers)
	}
	for _, g := range others() {
		if !s.goroutines[g.id] && !g.runs(s.forever) {
			fmt.Fprintf(&out, "%s\n\n", g.stack)
		}
	}
	return out.String()
}

// snapshot is the goroutines and lent buffers that exist at one moment.
type snapshot struct {
	goroutines map[string]bool // by id, which the runtime never uses twice
	buffers    int64
	forever    []string
}
