// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenKey is where RPCs carry the token of their server.
const tokenKey = "lb-token"

// errDropped is a status: a dropped RPC ends even if it waits for ready. The other errors are
// not, so such RPCs wait for the next list.
var (
	errDropped   = status.Error(codes.Unavailable, "request dropped by grpclb")
	errNoServers = errors.New("grpclb: the load balancer named no server")
)

// listPicker drops RPCs as the list says, leaves the others to the child policy's picker, and
// counts all of them.
type listPicker struct {
	list  *serverList
	stats *callStats
	child balancer.Picker // nil if the list has no server
	// token returns that of the server behind a SubConn.
	token func(balancer.SubConn) string
}

func (p *listPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if token, drop := p.list.drop(); drop {
		p.stats.drop(token)
		return balancer.PickResult{}, errDropped
	}
	if p.child == nil { // nobody else could take it
		return balancer.PickResult{}, errNoServers
	}
	res, err := p.child.Pick(info)
	if err != nil {
		return res, err
	}
	if res.Metadata == nil {
		res.Metadata = tokenMD(p.token(res.SubConn))
	}
	p.stats.start()
	done := res.Done
	res.Done = func(info balancer.DoneInfo) {
		p.stats.end(info)
		if done != nil {
			done(info)
		}
	}
	return res, nil
}

// tokenMD has an empty token, too: a server sees that a load balancer has named it.
func tokenMD(token string) metadata.MD {
	return metadata.MD{tokenKey: []string{token}}
}

// orderBuilder makes pickers that take servers in the order of the list, as often as they are
// in it. Without a list they are the resolver's, each once.
type orderBuilder struct {
	list func() *serverList
}

func (b orderBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := &orderPicker{}
	list := b.list()
	byAddr := make(map[string]balancer.SubConn, len(info.ReadySCs))
	for sc, i := range info.ReadySCs {
		switch {
		case !isFromBalancer(i.Address):
			p.servers = append(p.servers, server{sc: sc})
		case list != nil:
			byAddr[i.Address.Addr] = sc
		}
	}
	if list != nil {
		for _, e := range list.entries {
			if sc := byAddr[e.addr]; sc != nil {
				p.servers = append(p.servers, server{sc: sc, md: tokenMD(e.token)})
			}
		}
	}
	if len(p.servers) == 0 { // the ready ones are about to go
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p.next.Store(rand.Uint64N(uint64(len(p.servers))))
	return p
}

type server struct {
	sc balancer.SubConn
	md metadata.MD // nil if no load balancer has named it
}

type orderPicker struct {
	servers []server
	next    atomic.Uint64
}

func (p *orderPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	n := p.next.Add(1) - 1
	s := p.servers[n%uint64(len(p.servers))]
	return balancer.PickResult{SubConn: s.sc, Metadata: s.md}, nil
}
