// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/ctxkey"
	iringhash "google.golang.org/grpc/internal/ringhash"
	"google.golang.org/grpc/internal/xxh64"
)

// picker picks by the states that the ring's members had when it was made.
type picker struct {
	ring    ring // not empty
	members []endpointsharding.ChildState
	header  string
	// connecting says that a member is connecting.
	connecting bool
}

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	hash, known, err := p.hash(info.Ctx)
	if err != nil {
		return balancer.PickResult{}, err
	}
	first := p.ring.find(hash)
	if known {
		return p.pickHashed(first, info)
	}
	return p.pickRandom(first, info)
}

var errNoHash = errors.New("ringhash: expected xDS config selector to set the request hash")

// hash returns the RPC's hash. If the RPC lacks the header, hash returns a random number, and known
// is false. It fails if the hash must come from xDS and the RPC has none.
func (p *picker) hash(ctx context.Context) (hash uint64, known bool, err error) {
	if p.header == "" {
		if hash, known = iringhash.Hash(ctx); !known {
			err = errNoHash
		}
		return hash, known, err
	}
	if value := strings.Join(ctxkey.OutgoingFrom(ctx).Values(p.header), ","); value != "" {
		hash, known = xxh64.Sum([]byte(value)), true
	}
	if !known {
		hash = rand.Uint64()
	}
	return hash, known, nil
}

// pickHashed uses the first member, from the place first on, that is not in TransientFailure. If
// that member is idle, it makes it connect, and the RPC waits (gRFC A61).
func (p *picker) pickHashed(first int, info balancer.PickInfo) (balancer.PickResult, error) {
	for i := range p.ring.size() {
		m := p.at(first + i)
		switch m.State.ConnectivityState {
		case connectivity.Ready:
			return m.State.Picker.Pick(info)
		case connectivity.Idle:
			m.ExitIdle()
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		case connectivity.Connecting:
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		}
	}
	return p.at(first).State.Picker.Pick(info)
}

// pickRandom uses the first member that is ready, from the random place first on. It makes the
// first idle member that it passes connect, unless a member is connecting already (gRFC A76).
func (p *picker) pickRandom(first int, info balancer.PickInfo) (balancer.PickResult, error) {
	connecting := p.connecting
	for i := range p.ring.size() {
		m := p.at(first + i)
		switch m.State.ConnectivityState {
		case connectivity.Ready:
			return m.State.Picker.Pick(info)
		case connectivity.Idle:
			if !connecting {
				m.ExitIdle()
				connecting = true
			}
		}
	}
	if connecting {
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	return p.at(first).State.Picker.Pick(info)
}

// at returns the member at place i, modulo the size of the ring.
func (p *picker) at(i int) *endpointsharding.ChildState {
	return &p.members[p.ring.owner(i)]
}
