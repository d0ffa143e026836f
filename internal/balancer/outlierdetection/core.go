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

// policy is the balancer, and the ClientConn of its child. mu guards its state. policy does not
// hold mu while it calls the child, listeners or its own ClientConn; only the ClientConn's
// UpdateState is called with mu held.
type policy struct {
	balancer.ClientConn
	opts  buildoptions.Kept
	child gracefulswitch.Balancer
	roll  func() uint32 // a random number below 100

	mu        sync.Mutex
	closed    bool
	reported  bool // last is valid
	config    *Config
	service   string // the backend service that metrics are labeled with
	endpoints []*endpoint
	byAddress map[string]*endpoint
	subConns  few.Map[*subConn, struct{}]
	last      balancer.State

	timer *time.Timer
	begun time.Time // when the interval began; zero while nothing is counted
}

// subConn is a SubConn of the child. While its endpoint is ejected, its health is TransientFailure
// (A61).
type subConn struct {
	balancer.SubConn
	policy  *policy
	address string // "" if there are several: the policy does not eject such a SubConn (A50)
	// endpoint is nil if the resolver has none with the address.
	endpoint atomic.Pointer[endpoint]

	health serializer.Serializer // runs the calls of listener

	mu       sync.Mutex
	listener func(balancer.SubConnState) // the child's health listener; nil if it registered none
	last     balancer.SubConnState       // the last health report, even while the endpoint is ejected
	heard    bool                        // last is valid
}

// picker picks as child does and, if counts is set, counts the RPC for the endpoint that was
// picked. It does not change.
type picker struct {
	child  balancer.Picker
	counts bool
}
