// SPDX-License-Identifier: Apache-2.0

// Package call has what the routes of xDS have decided about an RPC. Filters and load balancing
// policies find it in the RPC's context.
package call

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/internal/xds/resource"
)

// Info describes one RPC. Filters may change it before they let the RPC go on. After that it does not
// change, except for what a pick stores.
type Info struct {
	// Child is the name of the child of the cluster manager that picks for the RPC.
	Child string
	// Cluster is the name of the cluster, or "" if a plugin chooses the cluster.
	Cluster string
	// Resource is the cluster's resource, or nil if it is not known.
	Resource *resource.Cluster
	// Route is the route that the RPC has matched.
	Route *resource.Route
	// Session says that the RPC belongs to a session (A55), or begins one. Hosts are the addresses that it wants, in
	// order of preference; a session that begins has none.
	Session bool
	Hosts   []string
	// Failed, if not nil, returns the reason why there is no cluster for the RPC. All picks of the RPC
	// fail with it. If it is a status, it ends the RPC; with another error, RPCs that wait for ready
	// go on waiting.
	Failed func() error

	chooser Chooser // may be nil
	// picked has the addresses of the endpoint that the last pick has chosen (A75).
	picked atomic.Pointer[[]string]
}

// Key is the context key of an RPC's *Info. A context may implement Value for this key itself.
type Key struct{}

// With returns a context for an RPC that carries the Info.
func With(ctx context.Context, i *Info) context.Context { return context.WithValue(ctx, Key{}, i) }

// From returns the Info of an RPC, or nil if it has none.
func From(ctx context.Context) *Info {
	i, _ := ctx.Value(Key{}).(*Info)
	return i
}

// Chooser moves an RPC to another cluster of its route. ChooseCluster returns false if the route has
// no cluster of that name.
type Chooser interface {
	ChooseCluster(name string) bool
}

// SetChooser sets the Chooser that ChooseCluster uses.
func (i *Info) SetChooser(c Chooser) { i.chooser = c }

// ChooseCluster moves the RPC to another cluster of its route (A60). If the route has no such cluster,
// it changes nothing and returns false. It must be called before the RPC goes on.
func (i *Info) ChooseCluster(name string) bool {
	return name == i.Cluster || i.chooser != nil && i.chooser.ChooseCluster(name)
}

// SetPicked stores the addresses of the picked endpoint. They must not be changed afterwards.
func (i *Info) SetPicked(addresses *[]string) { i.picked.Store(addresses) }

// Picked returns the addresses of the endpoint that was picked last. It returns nil if there was no
// pick, or if no policy has stored the addresses.
func (i *Info) Picked() []string {
	if p := i.picked.Load(); p != nil {
		return *p
	}
	return nil
}
