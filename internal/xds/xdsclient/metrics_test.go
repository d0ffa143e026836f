// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"testing"

	estats "google.golang.org/grpc/experimental/stats"
)

type counting struct {
	estats.UnimplementedMetricsRecorder
	counted func()
}

func (c *counting) RecordInt64Count(*estats.Int64CountHandle, int64, ...string) { c.counted() }

// TestRecordersRunUnlocked: recorders are the program's, and may take as long as they like.
func TestRecordersRunUnlocked(t *testing.T) {
	m, n := newMetrics("t"), 0
	r := &counting{counted: func() {
		n++
		if !m.mu.TryLock() {
			t.Fatal("a recorder is called with the lock held")
		}
		m.mu.Unlock()
	}}
	stop := m.add(nil, r)
	m.Updates("s", "type.googleapis.com/x", 1, 1)
	m.ServerFailure("s")
	stop()
	if m.ServerFailure("s"); n != 3 {
		t.Errorf("%d records", n)
	}
}

// uncomparable is a recorder that can't be compared.
type uncomparable struct {
	*counting
	_ []int
}

// TestUncomparableRecorders: each counts as one of its own until it is taken away.
func TestUncomparableRecorders(t *testing.T) {
	m, n := newMetrics("t"), 0
	r := uncomparable{counting: &counting{counted: func() { n++ }}}
	stop, stop2 := m.add(nil, r), m.add(nil, r)
	m.ServerFailure("s")
	stop()
	m.ServerFailure("s")
	stop2()
	if m.ServerFailure("s"); n != 3 {
		t.Errorf("%d records", n)
	}
}
