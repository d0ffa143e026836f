// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"testing"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/stats"
)

func TestSharedRegistersARecorderOnce(t *testing.T) {
	reporter := estats.AsyncMetricReporterFunc(func(to estats.AsyncMetricsRecorder) error {
		gauge.Record(to, 5, "z")
		return nil
	})
	s := NewShared(reporter, []estats.AsyncMetric{gauge})
	if s.Add([]stats.Handler{handler{}}) != nil {
		t.Error("nobody is there to be told")
	}
	p := &plugin{}
	first, second := s.Add([]stats.Handler{p}), s.Add([]stats.Handler{handler{}, p, p})
	first()
	first()
	if p.reporter == nil || len(s.users) != 1 {
		t.Fatal("the other user is forgotten")
	}
	if err := p.reporter.Report(p); err != nil || len(p.got) != 1 || p.got[0] != "gauge5 [z]" {
		t.Errorf("%q, %v", p.got, err)
	}
	second()
	if p.reporter != nil || s.users != nil {
		t.Error("registered, though nobody is left")
	}
}

// embedding has only the methods of what it was given: nothing.
type embedding struct{ estats.MetricsRecorder }

type panicking struct{ estats.MetricsRecorder }

func (panicking) RegisterAsyncReporter(estats.AsyncMetricReporter, ...estats.AsyncMetric) func() {
	panic("of the recorder")
}

type silent struct{ estats.MetricsRecorder }

func (silent) RegisterAsyncReporter(estats.AsyncMetricReporter, ...estats.AsyncMetric) func() {
	return nil
}

func TestRecordersWithoutTheMethod(t *testing.T) {
	s := NewShared(nil, nil)
	for _, r := range []estats.MetricsRecorder{embedding{}, &embedding{}, silent{}} {
		stop := s.Add(nil, r, r)
		stop()
		stop()
	}
	defer func() {
		if got := recover(); got != "of the recorder" {
			t.Errorf("%v", got)
		}
	}()
	s.Add(nil, panicking{})
}
