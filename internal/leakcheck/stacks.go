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

type goroutine struct {
	id    string
	stack string
}

// stacks returns all other goroutines that run, or were started by, code of this module.
func stacks() []goroutine {
	dump := make([]byte, 1<<20)
	for {
		n := runtime.Stack(dump, true)
		if n < len(dump) {
			dump = dump[:n]
			break
		}
		dump = make([]byte, 2*len(dump))
	}
	all := strings.Split(strings.TrimSpace(string(dump)), "\n\n")
	var ours []goroutine
	for _, stack := range all[1:] { // the first is the caller
		if id, ok := parse(stack); ok {
			ours = append(ours, goroutine{id: id, stack: stack})
		}
	}
	return ours
}

// parse returns the id of a goroutine whose stack mentions the module, unless it belongs
// to the testing package's own machinery.
func parse(stack string) (id string, ours bool) {
	header, frames, _ := strings.Cut(stack, "\n")
	fields := strings.Fields(header)
	if len(fields) < 2 || !strings.Contains(frames, module) {
		return "", false
	}
	for line := range strings.Lines(frames) {
		// A test that waits for its subtests, or the one that runs TestMain.
		if strings.HasPrefix(line, "testing.(*T).Run(") || strings.HasPrefix(line, "testing.(*M).") ||
			strings.HasPrefix(line, "testing.tRunner(") {
			return "", false
		}
	}
	return fields[1], true
}

// await returns "" as soon as nothing is there that was not there before, or else what
// remained when the time was over. That a goroutine is gone is not an event anybody
// can wait for, so this looks again and again, quickly at first.
func (s snapshot) await(limit time.Duration) string {
	deadline := time.Now().Add(limit)
	for pause := time.Duration(0); ; pause = min(2*pause+50*time.Microsecond, 50*time.Millisecond) {
		leak := s.compare()
		if leak == "" || time.Now().After(deadline) {
			return leak
		}
		if pause == 0 {
			runtime.Gosched()
			continue
		}
		<-time.After(pause)
	}
}

func (s snapshot) compare() string {
	var out strings.Builder
	if lent := mem.Default().Stats().Buffers; lent != s.buffers {
		fmt.Fprintf(&out, "buffers lent by the default pool: %d, at the start %d\n", lent, s.buffers)
	}
	for _, g := range stacks() {
		if !s.goroutines[g.id] {
			fmt.Fprintf(&out, "goroutine left behind:\n%s\n\n", g.stack)
		}
	}
	return out.String()
}
