// SPDX-License-Identifier: Apache-2.0

// Package call holds what the routes of xDS have decided about an RPC, which filters and
// policies find in its context.
package call

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/internal/xds/resource"
)

// Info is about one RPC. Filters may change it before they go on with the RPC; from then on it
// does not change, but for what a pick stores.
type Info struct {
	// Child is the name of the child of the cluster manager that picks for the RPC.
	Child string
	// Cluster is the name of the cluster; "" if a plugin chooses it.
	Cluster string
	// Resource is the cluster, nil if it is not known.
	Resource *resource.Cluster
	// Route is the one that the RPC goes by.
	Route *resource.Route
	// Hosts are the addresses that a session wants (A55), the best first.
	Hosts []string
	// Failed, unless it is nil, says why no cluster is chosen for the RPC: all its picks fail with it.
	// A status ends the RPC; another error leaves those that wait for ready waiting.
	Failed func() error

	chooser Chooser // may be nil
	// picked are the addresses of the endpoint that the last pick chose (A75).
	picked atomic.Pointer[[]string]
}

// Key finds an RPC's *Info in its context. A context may answer to it with one of its own.
type Key struct{}

// With returns the context of an RPC with the Info.
func With(ctx context.Context, i *Info) context.Context { return context.WithValue(ctx, Key{}, i) }

// From returns the Info of an RPC, nil if it has none.
func From(ctx context.Context) *Info {
	i, _ := ctx.Value(Key{}).(*Info)
	return i
}

// Chooser sends an RPC to another cluster of its route. It returns false if there is none of that
// name.
type Chooser interface {
	ChooseCluster(name string) bool
}

// SetChooser sets what ChooseCluster goes by.
func (i *Info) SetChooser(c Chooser) { i.chooser = c }

// ChooseCluster sends the RPC to another cluster of its route (A60). It returns false, and
// changes nothing, if the route has no such cluster. It must be called before the RPC goes on.
func (i *Info) ChooseCluster(name string) bool {
	return name == i.Cluster || i.chooser != nil && i.chooser.ChooseCluster(name)
}

// SetPicked stores the addresses of the endpoint that was picked. They must not be changed.
func (i *Info) SetPicked(addresses *[]string) { i.picked.Store(addresses) }

// Picked returns the addresses of the endpoint that was picked last, nil before that, or if
// nobody stored them.
func (i *Info) Picked() []string {
	if p := i.picked.Load(); p != nil {
		return *p
	}
	return nil
}
