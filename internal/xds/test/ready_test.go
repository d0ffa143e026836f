// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/status"
)

// TestWaitForReadyWithoutControlPlane: RPCs that wait for ready while the control plane is down are
// chosen for anew when it is back; those whose time is up before say what they waited for.
func TestWaitForReadyWithoutControlPlane(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	p.stop()
	cc := channel(t, nil, p)
	if _, err := try(t.Context(), t, cc); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), nodeID) {
		t.Fatalf("%v, want an RPC that fails at once", err)
	}
	err := testutils.EndsWaiting(t.Context(), func(ctx context.Context) error {
		_, err := try(ctx, t, cc, grpc.WaitForReady(true))
		return err
	}, nodeID)
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), nodeID) {
		t.Errorf("%v, want what was waited for", err)
	}
	type end struct {
		name string
		err  error
	}
	const waiting = 20
	ends := make(chan end, waiting)
	for range waiting {
		go func() {
			name, err := try(t.Context(), t, cc, grpc.WaitForReady(true))
			ends <- end{name, err}
		}()
	}
	p.start()
	for range waiting {
		if e := <-ends; e.err != nil || e.name != "a" {
			t.Errorf("%q, %v", e.name, e.err)
		}
	}
	// A channel that is closed has nobody wait.
	p.stop()
	closed := channel(t, nil, p)
	if _, err := try(t.Context(), t, closed); err == nil {
		t.Fatal("without a control plane")
	}
	go func() {
		_, err := try(t.Context(), t, closed, grpc.WaitForReady(true))
		ends <- end{"", err}
	}()
	closed.Close()
	if e := <-ends; status.Code(e.err) != codes.Canceled {
		t.Error(e.err)
	}
}

// TestWaitForReadyAsPublished takes away what a channel goes by, on channels of this module and of
// the published one. RPCs fail at once; those that wait for ready wait, and then go on, also where
// they fail there.
func TestWaitForReadyAsPublished(t *testing.T) {
	buildsTwo(t)
	p := newPlane(t)
	a := anyBackend(t, "a")
	all := []types.Resource{listener("x", "x-r"), route("x-r", "x-c"), cluster("x-c"), endpoints("x-c", a.port)}
	keep := []types.Resource{listener("keep", "keep-r"), route("keep-r", "x-c")} // a plane without any of a type sends nothing
	elsewhere := route("x-r", "x-c")
	elsewhere.VirtualHosts[0].Domains = []string{"other"}
	programs := map[string]string{"ours": build(t, "same", "go.mod"), "published": build(t, "same", "published.mod")}
	for _, tt := range []struct {
		name      string
		lacking   int            // of all
		instead   types.Resource // nil: nothing
		fast      string         // how RPCs end
		afterwait string         // those that have waited, there
	}{
		{"no listener", 0, nil, "Unavailable", "Unavailable"},
		{"no virtual host", 1, elsewhere, "Unavailable", "Unavailable"},
		{"no cluster", 2, nil, "Unavailable", "a"},
		{"no locality", 3, assignment("x-c"), "Unavailable", "a"},
		{"no endpoint", 3, endpoints("x-c"), "Unavailable", "a"},
	} {
		without := slices.Concat(keep, all[:tt.lacking], all[tt.lacking+1:])
		if tt.instead != nil {
			without = append(without, tt.instead)
		}
		p.set(slices.Concat(keep, all)...)
		clients := map[string]*sameClient{}
		for name, program := range programs {
			clients[name] = startSame(t, program, bootstrapText(p))
			awaitEnd(t, clients[name], "x", "a", name)
		}
		p.set(without...)
		for _, name := range slices.Sorted(maps.Keys(clients)) {
			when := fmt.Sprintf("%s, %s", tt.name, name)
			awaitEnd(t, clients[name], "x", tt.fast, when)
			if got := clients[name].do(sameRPC{Target: "xds:///x", Method: "/s/m", Times: 1, Briefly: true}); got["DeadlineExceeded"] != 1 {
				t.Errorf("%s: an RPC that waits for ready ends with %v", when, got)
			}
			if err := clients[name].in.Encode(sameRPC{Target: "xds:///x", Method: "/s/m", Times: 1, Tells: true}); err != nil {
				t.Fatal(err)
			}
			clients[name].answer() // it has begun
		}
		p.set(slices.Concat(keep, all)...)
		for _, name := range slices.Sorted(maps.Keys(clients)) {
			// One that was late has not waited.
			if got := clients[name].answer(); got["a"] != 1 && (name == "ours" || got[tt.afterwait] != 1) {
				t.Errorf("%s, %s: an RPC that has waited ends with %v, not %s", tt.name, name, got, tt.afterwait)
			}
		}
	}
}
