// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Config is the policy's configuration (A50).
type Config struct {
	serviceconfig.LoadBalancingConfig

	Interval, BaseEjectionTime, MaxEjectionTime time.Duration
	// MaxEjectionPercent is how many endpoints may be left out, in percent of all.
	MaxEjectionPercent uint32
	// Without SuccessRate and FailurePercentage nothing is left out, and nothing counted.
	SuccessRate       *SuccessRate
	FailurePercentage *FailurePercentage
	// Child is the policy below.
	Child *gracefulswitch.Config
}

// SuccessRate leaves out endpoints whose share of successes is below the mean by more than
// StdevFactor/1000 standard deviations.
type SuccessRate struct {
	StdevFactor           uint32 `json:"stdevFactor"`
	EnforcementPercentage uint32 `json:"enforcementPercentage"`
	MinimumHosts          uint32 `json:"minimumHosts"`
	RequestVolume         uint32 `json:"requestVolume"`
}

// FailurePercentage leaves out endpoints whose share of failures is above Threshold percent.
type FailurePercentage struct {
	Threshold             uint32 `json:"threshold"`
	EnforcementPercentage uint32 `json:"enforcementPercentage"`
	MinimumHosts          uint32 `json:"minimumHosts"`
	RequestVolume         uint32 `json:"requestVolume"`
}

// counting reports whether the ends of RPCs are of any interest.
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

// ParseConfig implements balancer.ConfigParser.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	in := struct {
		Interval           iserviceconfig.Duration `json:"interval"`
		BaseEjectionTime   iserviceconfig.Duration `json:"baseEjectionTime"`
		MaxEjectionTime    iserviceconfig.Duration `json:"maxEjectionTime"`
		MaxEjectionPercent uint32                  `json:"maxEjectionPercent"`
		SuccessRate        *SuccessRate            `json:"successRateEjection"`
		FailurePercentage  *FailurePercentage      `json:"failurePercentageEjection"`
		ChildPolicy        json.RawMessage         `json:"childPolicy"`
	}{
		Interval:           iserviceconfig.Duration(10 * time.Second),
		BaseEjectionTime:   iserviceconfig.Duration(30 * time.Second),
		MaxEjectionTime:    iserviceconfig.Duration(300 * time.Second),
		MaxEjectionPercent: 10,
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	c := &Config{
		Interval: time.Duration(in.Interval), BaseEjectionTime: time.Duration(in.BaseEjectionTime),
		MaxEjectionTime: time.Duration(in.MaxEjectionTime), MaxEjectionPercent: in.MaxEjectionPercent,
		SuccessRate: in.SuccessRate, FailurePercentage: in.FailurePercentage,
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	child, err := gracefulswitch.ParseConfig(in.ChildPolicy)
	if err != nil {
		return nil, fmt.Errorf("%s: childPolicy: %w", Name, err)
	}
	c.Child = child
	return c, nil
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
