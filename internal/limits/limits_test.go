// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"testing"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/stats"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// labels records the label of each measurement.
type labels struct {
	estats.MetricsRecorder
	all []string
}

func (l *labels) RecordInt64Count(_ *estats.Int64CountHandle, _ int64, labels ...string) {
	l.all = append(l.all, labels...)
}

// TestFullLabel: Full names the limit that Enter names, also when several limits are exceeded.
func TestFullLabel(t *testing.T) {
	for _, tt := range []struct {
		rpcs int
		held int64
		want string
	}{
		{rpcs: 1, held: 10, want: "rpcs"},
		{rpcs: 2, held: 11, want: "bytes_held"},
		{rpcs: 1, held: 11, want: "bytes_held"},
	} {
		l, got := New(Config{RPCs: tt.rpcs, BytesHeld: 10}), &labels{}
		to := stats.NewRecorders(nil, got)
		held := int64(0)
		holds := func() int64 { return held }
		if may, counted := l.Enter("/s/m", holds, to); !may || !counted {
			t.Fatal("the first RPC is refused")
		}
		held = tt.held
		full := l.Full("/s/m", holds, to)
		may, counted := l.Enter("/s/m", holds, to)
		if !full || may || counted || !slices.Equal(got.all, []string{tt.want, tt.want}) {
			t.Errorf("%+v: full %t, may enter %t, labels %v", tt, full, may, got.all)
		}
	}
}
