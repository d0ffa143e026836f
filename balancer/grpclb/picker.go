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

// tokenKey is the metadata key for the token of an RPC's server.
const tokenKey = "lb-token"

// errDropped is a status, so that a dropped RPC ends even if it waits for ready. errNoServers is
// not, so that RPCs that wait for ready wait for the next list.
var (
	errDropped   = status.Error(codes.Unavailable, "request dropped by grpclb")
	errNoServers = errors.New("grpclb: the load balancer named no server")
)

// listPicker drops RPCs as the list says, passes the others to the child policy's picker, and
// counts all of them.
type listPicker struct {
	list  *serverList
	stats *callStats
	child balancer.Picker // nil if the list has no server
	// token returns the token of a SubConn's server.
	token func(balancer.SubConn) string
}

func (p *listPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if token, drop := p.list.drop(); drop {
		p.stats.drop(token)
		return balancer.PickResult{}, errDropped
	}
	if p.child == nil { // not reached: a list without servers drops every RPC
		return balancer.PickResult{}, errNoServers
	}
	res, err := p.child.Pick(info)
	if err != nil {
		return res, err
	}
	if res.Metadata == nil {
		res.Metadata = tokenMD(p.token(res.SubConn))
	}
	stream := p.stats.start()
	done := res.Done
	res.Done = func(info balancer.DoneInfo) {
		p.stats.end(stream, info)
		if done != nil {
			done(info)
		}
	}
	return res, nil
}

// tokenMD returns the metadata that carries a token. It adds an empty token, too: it tells the
// server that it is in a load balancer's list.
func tokenMD(token string) metadata.MD {
	return metadata.MD{tokenKey: []string{token}}
}

// orderBuilder builds pickers that pick servers in the order of the list, each as often as it is in
// the list. Without a list they pick the servers that the resolver found, each once per round.
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
	if len(p.servers) == 0 { // the SubConns that are ready belong to an older list
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p.next.Store(rand.Uint64N(uint64(len(p.servers))))
	return p
}

type server struct {
	sc balancer.SubConn
	md metadata.MD // nil if the server is not from a load balancer
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
