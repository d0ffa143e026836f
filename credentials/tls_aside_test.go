// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// warnings are those that were logged.
type warnings []string

func (w *warnings) Warningf(format string, args ...any) {
	*w = append(*w, fmt.Sprintf(format, args...))
}

// Where crypto/tls is not as it is known, one line of the log says so and why, however many
// connections there are; where it is, none does.
func TestTellsStoodAside(t *testing.T) {
	var s standAside
	var log warnings
	if s.tell(&log, nil); len(log) != 0 {
		t.Errorf("for nothing: %q", log)
	}
	for range 3 {
		s.tell(&log, errors.New("tls.Conn has other fields"))
	}
	if len(log) != 1 {
		t.Fatalf("%d lines: %q", len(log), log)
	}
	for _, part := range []string{"idle TLS connections keep the buffers", runtime.Version(), "tls.Conn has other fields"} {
		if !strings.Contains(log[0], part) {
			t.Errorf("%q is not in %q", part, log[0])
		}
	}
}
