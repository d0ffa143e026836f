// SPDX-License-Identifier: Apache-2.0

package call

import (
	"slices"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// clusters are those that a route has.
type clusters []string

func (c clusters) ChooseCluster(name string) bool { return slices.Contains(c, name) }

func TestInfo(t *testing.T) {
	if From(t.Context()) != nil {
		t.Error("an RPC without one has one")
	}
	i := &Info{Cluster: "a"}
	if From(With(t.Context(), i)) != i {
		t.Error("it is lost")
	}
	if i.Picked() != nil {
		t.Error("something was picked")
	}
	want := []string{"x:1", "y:1"}
	i.SetPicked(&want)
	if got := i.Picked(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestA60ChooseCluster(t *testing.T) {
	for _, tt := range []struct {
		chooser Chooser
		name    string
		want    bool
	}{
		{nil, "a", true},
		{nil, "b", false},
		{clusters{"a", "b"}, "a", true},
		{clusters{"a", "b"}, "b", true},
		{clusters{"a", "b"}, "c", false},
	} {
		i := &Info{Cluster: "a"}
		i.SetChooser(tt.chooser)
		if got := i.ChooseCluster(tt.name); got != tt.want {
			t.Errorf("%v, %q: %t", tt.chooser, tt.name, got)
		}
	}
}
