// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"encoding/json"
	"fmt"
	"time"

	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

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

// ParseConfig returns a *config. The error of a negative errorUtilizationPenalty is that
// of gRFC A58.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	raw := configJSON{
		OOBReportingPeriod:      iserviceconfig.Duration(10 * time.Second),
		BlackoutPeriod:          iserviceconfig.Duration(10 * time.Second),
		WeightExpirationPeriod:  iserviceconfig.Duration(3 * time.Minute),
		WeightUpdatePeriod:      iserviceconfig.Duration(time.Second),
		ErrorUtilizationPenalty: 1,
	}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if raw.ErrorUtilizationPenalty < 0 {
		return nil, fmt.Errorf("%s: errorUtilizationPenalty is %v, below zero", Name, raw.ErrorUtilizationPenalty)
	}
	return &config{
		outOfBand:       raw.EnableOOBLoadReport,
		outOfBandPeriod: time.Duration(raw.OOBReportingPeriod),
		blackout:        time.Duration(raw.BlackoutPeriod),
		expiration:      time.Duration(raw.WeightExpirationPeriod),
		updatePeriod:    max(time.Duration(raw.WeightUpdatePeriod), leastUpdatePeriod),
		penalty:         raw.ErrorUtilizationPenalty,
	}, nil
}
