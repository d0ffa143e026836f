// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "outlier_detection_experimental"

// Config is the policy's configuration (A50).
type Config struct {
	serviceconfig.LoadBalancingConfig

	Interval, BaseEjectionTime, MaxEjectionTime time.Duration
	// MaxEjectionPercent is the share of endpoints that may be ejected at a time, in percent.
	MaxEjectionPercent uint32
	// If both SuccessRate and FailurePercentage are nil, the policy ejects no endpoint and counts
	// no RPCs.
	SuccessRate       *SuccessRate
	FailurePercentage *FailurePercentage
	// Child is the configuration of the child policy.
	Child *gracefulswitch.Config
}

// SuccessRate ejects endpoints whose share of successful RPCs is below the mean by more than
// StdevFactor/1000 standard deviations.
type SuccessRate struct {
	StdevFactor           uint32 `json:"stdevFactor"`
	EnforcementPercentage uint32 `json:"enforcementPercentage"`
	MinimumHosts          uint32 `json:"minimumHosts"`
	RequestVolume         uint32 `json:"requestVolume"`
}

// FailurePercentage ejects endpoints whose share of failed RPCs is above Threshold percent.
type FailurePercentage struct {
	Threshold             uint32 `json:"threshold"`
	EnforcementPercentage uint32 `json:"enforcementPercentage"`
	MinimumHosts          uint32 `json:"minimumHosts"`
	RequestVolume         uint32 `json:"requestVolume"`
}

// counting reports whether the policy counts successful and failed RPCs.
func (c *Config) counting() bool { return c.SuccessRate != nil || c.FailurePercentage != nil }

// UnmarshalJSON sets defaults first.
func (s *SuccessRate) UnmarshalJSON(js []byte) error {
	type plain SuccessRate
	p := plain{StdevFactor: 1900, EnforcementPercentage: 100, MinimumHosts: 5, RequestVolume: 100}
	if err := json.Unmarshal(js, &p); err != nil {
		return err
	}
	*s = SuccessRate(p)
	return nil
}

// UnmarshalJSON sets defaults first.
func (f *FailurePercentage) UnmarshalJSON(js []byte) error {
	type plain FailurePercentage
	p := plain{Threshold: 85, EnforcementPercentage: 100, MinimumHosts: 5, RequestVolume: 50}
	if err := json.Unmarshal(js, &p); err != nil {
		return err
	}
	*f = FailurePercentage(p)
	return nil
}

func (c *Config) check() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"interval", c.Interval}, {"baseEjectionTime", c.BaseEjectionTime}, {"maxEjectionTime", c.MaxEjectionTime}} {
		if d.value < 0 {
			return fmt.Errorf("%s: %v is negative", d.field, d.value)
		}
	}
	if err := percent("maxEjectionPercent", c.MaxEjectionPercent); err != nil {
		return err
	}
	if s := c.SuccessRate; s != nil {
		if err := percent("successRateEjection.enforcementPercentage", s.EnforcementPercentage); err != nil {
			return err
		}
	}
	if f := c.FailurePercentage; f != nil {
		if err := percent("failurePercentageEjection.threshold", f.Threshold); err != nil {
			return err
		}
		return percent("failurePercentageEjection.enforcementPercentage", f.EnforcementPercentage)
	}
	return nil
}

func percent(field string, n uint32) error {
	if n > 100 {
		return fmt.Errorf("%s: %d is above 100", field, n)
	}
	return nil
}
