// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"time"

	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "weighted_round_robin"

// leastUpdatePeriod is the shortest period at which weights are recomputed.
const leastUpdatePeriod = 100 * time.Millisecond

// config is the policy's configuration (gRFC A58).
type config struct {
	serviceconfig.LoadBalancingConfig

	outOfBand       bool          // load reports come on streams of their own, not with RPCs
	outOfBandPeriod time.Duration // the interval at which servers send load reports on streams
	blackout        time.Duration // how long a server must have reported before its weight is used
	expiration      time.Duration // how long a server's weight is used after its last report
	updatePeriod    time.Duration // the interval at which the weights are recomputed
	penalty         float64       // the factor by which the error rate adds to utilization
}

// configJSON is the configuration in JSON. ParseConfig sets the defaults.
type configJSON struct {
	EnableOOBLoadReport     bool
	OOBReportingPeriod      iserviceconfig.Duration
	BlackoutPeriod          iserviceconfig.Duration
	WeightExpirationPeriod  iserviceconfig.Duration
	WeightUpdatePeriod      iserviceconfig.Duration
	ErrorUtilizationPenalty float64
}
