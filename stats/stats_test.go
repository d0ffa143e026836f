// SPDX-License-Identifier: Apache-2.0

package stats_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

func names(m *stats.MetricSet) []string { return slices.Sorted(maps.Keys(m.Metrics())) }

func TestMetricSet(t *testing.T) {
	ab := stats.NewMetricSet("a", "b", "a")
	for _, tt := range []struct {
		what string
		set  *stats.MetricSet
		want []string
	}{
		{"new", ab, []string{"a", "b"}},
		{"add", ab.Add("c", "a"), []string{"a", "b", "c"}},
		{"join", ab.Join(stats.NewMetricSet("b", "d")), []string{"a", "b", "d"}},
		{"join nil", ab.Join(nil), []string{"a", "b"}},
		{"remove", ab.Remove("a", "x"), []string{"b"}},
		{"unchanged", ab, []string{"a", "b"}},
		{"nil", nil, nil},
		{"nil add", (*stats.MetricSet)(nil).Add("a"), []string{"a"}},
		{"nil remove", (*stats.MetricSet)(nil).Remove("a"), nil},
	} {
		if got := names(tt.set); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}

func TestTagsAndTrace(t *testing.T) {
	ctx := stats.SetTrace(stats.SetTags(context.Background(), []byte{0, 1}), []byte{2, 3})
	sent, _ := metadata.FromOutgoingContext(ctx)
	ctx = metadata.NewIncomingContext(context.Background(), sent)
	if got := stats.Tags(ctx); !slices.Equal(got, []byte{0, 1}) {
		t.Errorf("tags: %v", got)
	}
	if got := stats.Trace(ctx); !slices.Equal(got, []byte{2, 3}) {
		t.Errorf("trace: %v", got)
	}
	if got := stats.Tags(context.Background()); got != nil {
		t.Errorf("tags of nothing: %v", got)
	}
}

func TestLastTagsCount(t *testing.T) {
	md := metadata.Pairs("grpc-tags-bin", "old", "grpc-tags-bin", "new")
	if got := string(stats.Tags(metadata.NewIncomingContext(context.Background(), md))); got != "new" {
		t.Errorf("tags: %q", got)
	}
}

func TestIsClient(t *testing.T) {
	for _, client := range []bool{false, true} {
		for _, e := range []stats.RPCStats{
			&stats.Begin{Client: client},
			&stats.InHeader{Client: client},
			&stats.InPayload{Client: client},
			&stats.InTrailer{Client: client},
			&stats.OutHeader{Client: client},
			&stats.OutPayload{Client: client},
			&stats.OutTrailer{Client: client},
			&stats.End{Client: client},
		} {
			if e.IsClient() != client {
				t.Errorf("%T: IsClient is %t", e, !client)
			}
		}
		for _, e := range []stats.ConnStats{
			&stats.ConnBegin{Client: client},
			&stats.ConnEnd{Client: client},
		} {
			if e.IsClient() != client {
				t.Errorf("%T: IsClient is %t", e, !client)
			}
		}
	}
	if !new(stats.DelayedPickComplete).IsClient() {
		t.Error("DelayedPickComplete is not the client's")
	}
}
