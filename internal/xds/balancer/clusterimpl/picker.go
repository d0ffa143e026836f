// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// picker is immutable.
type picker struct {
	child balancer.Picker
	*settings
	// drop says whether RPCs may be dropped. An RPC that waits must not be, as each of its
	// further picks would be another chance to drop it.
	drop bool
}

func (p *policy) reportLocked() {
	s := p.last
	if p.settings == nil {
		p.ClientConn.UpdateState(s)
		return
	}
	own := &picker{child: s.Picker, settings: p.settings}
	own.drop = s.ConnectivityState == connectivity.Ready || p.settings.all
	if p.settings.all { // all RPCs are dropped, so they do not depend on connections
		s.ConnectivityState = connectivity.Ready
	}
	s.Picker = own
	p.ClientConn.UpdateState(s)
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if p.drop {
		for i := range p.drops {
			if p.drops[i].Share.Match(rand.Uint32N(uint32(match.All))) {
				return p.dropped(info, &p.drops[i])
			}
		}
	}
	limit := int64(p.resource.MaxRequests)
	if p.requests.Load() >= limit {
		return p.broken(info)
	}
	r, err := p.child.Pick(info)
	sc, ok := r.SubConn.(*subConn)
	if err != nil || !ok {
		stats.UpdateLabels(info.Ctx, p.labels)
		return r, err
	}
	if p.requests.Add(1) > limit { // other RPCs have taken the last places
		p.requests.ended()
		if r.Done != nil {
			r.Done(balancer.DoneInfo{Err: p.broke})
		}
		return p.broken(info)
	}
	at := sc.place(p.settings)
	if at.load != nil {
		at.load.Started()
	}
	r.SubConn = sc.SubConn
	r.Done = done.Join(at.done, r.Done)
	told := false
	defer done.GiveBackUnless(&told, r.Done)
	stats.UpdateLabels(info.Ctx, at.labels)
	told = true
	if sc.authority != nil && rewrites(info) {
		r.Metadata = metadata.Join(r.Metadata, sc.authority)
	}
	return r, nil
}

// rewrites reports whether the endpoint's hostname replaces the RPC's authority (A81).
func rewrites(info balancer.PickInfo) bool {
	i := call.From(info.Ctx)
	return i != nil && i.Route != nil && i.Route.AutoHostRewrite
}

func (p *picker) dropped(info balancer.PickInfo, d *resource.Drop) (balancer.PickResult, error) {
	stats.UpdateLabels(info.Ctx, p.labels) // whatever the pick's result is: gRFC A89
	if p.load != nil {
		p.load.Dropped(d.Category)
	}
	return balancer.PickResult{}, status.Errorf(codes.Unavailable, "RPC is dropped: drop category %q", d.Category)
}

func (p *picker) broken(info balancer.PickInfo) (balancer.PickResult, error) {
	stats.UpdateLabels(info.Ctx, p.labels)
	if p.load != nil {
		p.load.Dropped("")
	}
	return balancer.PickResult{}, p.broke
}
