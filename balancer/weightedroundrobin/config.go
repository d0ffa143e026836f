// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"time"

	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "weighted_round_robin"

// leastUpdatePeriod is how often weights are computed anew at most.
const leastUpdatePeriod = 100 * time.Millisecond

// config is the policy's configuration (gRFC A58).
type config struct {
	serviceconfig.LoadBalancingConfig

	outOfBand       bool          // reports come on streams, not with RPCs
	outOfBandPeriod time.Duration // how often they are asked for
	blackout        time.Duration // how long a server must have reported before it counts
	expiration      time.Duration // how long after its last report it counts
	updatePeriod    time.Duration // how often the weights are computed anew
	penalty         float64       // what a rate of errors counts, beside utilization
}

// configJSON has the defaults when defaultConfig made it.
type configJSON struct {
	EnableOOBLoadReport     bool
	OOBReportingPeriod      iserviceconfig.Duration
	BlackoutPeriod          iserviceconfig.Duration
	WeightExpirationPeriod  iserviceconfig.Duration
	WeightUpdatePeriod      iserviceconfig.Duration
	ErrorUtilizationPenalty float64
}
