// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/few"
	"google.golang.org/grpc/internal/serializer"
)

var logger = grpclog.Component("outlier-detection")

// policy is the balancer, and the ClientConn of the one below. One lock guards what it knows;
// it is not held in calls of others, but for UpdateState.
type policy struct {
	balancer.ClientConn
	opts  buildoptions.Kept
	child gracefulswitch.Balancer
	roll  func() uint32 // a random number below 100

	mu        sync.Mutex
	closed    bool
	reported  bool // last is there
	config    *Config
	service   string // that metrics are of
	endpoints []*endpoint
	byAddress map[string]*endpoint
	subConns  few.Map[*subConn, struct{}]
	last      balancer.State

	timer *time.Timer
	begun time.Time // of the interval; zero while nothing is counted
}

// subConn is one whose health is also what the policy thinks of its endpoint (A61).
type subConn struct {
	balancer.SubConn
	policy  *policy
	address string // "" if there are several: such a one is left alone (A50)
	// endpoint is nil if the resolver has none with the address.
	endpoint atomic.Pointer[endpoint]

	health serializer.Serializer // of calls of listeners

	mu       sync.Mutex
	listener func(balancer.SubConnState) // nil unless somebody listens to a connection's health
	last     balancer.SubConnState       // that the listener would hear of if it were not ejected
	heard    bool                        // last is there
}

// picker counts for the endpoints it picks. It does not change.
type picker struct {
	child  balancer.Picker
	counts bool
}
