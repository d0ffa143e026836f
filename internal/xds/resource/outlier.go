// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// OutlierDetection says when endpoints are left out for their errors (A50).
type OutlierDetection struct {
	Interval, BaseEjectionTime, MaxEjectionTime time.Duration
	MaxEjectionPercent                          uint32
	SuccessRate                                 *SuccessRate       // nil: not this way
	FailurePercentage                           *FailurePercentage // nil: not this way
}

// SuccessRate leaves out those below the mean by StdevFactor/1000 standard deviations.
type SuccessRate struct {
	StdevFactor, EnforcementPercentage, MinimumHosts, RequestVolume uint32
}

// FailurePercentage leaves out those above the Threshold.
type FailurePercentage struct {
	Threshold, EnforcementPercentage, MinimumHosts, RequestVolume uint32
}

func (cl *Cluster) readOutlier(_ *Context, in *clusterv3.Cluster) error {
	if in.GetOutlierDetection() == nil {
		return nil
	}
	o := in.GetOutlierDetection()
	r := outlierReader{}
	d := &OutlierDetection{
		Interval:           r.duration("interval", o.GetInterval(), 10*time.Second),
		BaseEjectionTime:   r.duration("base_ejection_time", o.GetBaseEjectionTime(), 30*time.Second),
		MaxEjectionTime:    r.duration("max_ejection_time", o.GetMaxEjectionTime(), 300*time.Second),
		MaxEjectionPercent: r.percent("max_ejection_percent", o.GetMaxEjectionPercent(), 10),
	}
	if enforce := r.percent("enforcing_success_rate", o.GetEnforcingSuccessRate(), 100); enforce > 0 {
		d.SuccessRate = &SuccessRate{
			StdevFactor:           number(o.GetSuccessRateStdevFactor(), 1900),
			EnforcementPercentage: enforce,
			MinimumHosts:          number(o.GetSuccessRateMinimumHosts(), 5),
			RequestVolume:         number(o.GetSuccessRateRequestVolume(), 100),
		}
	}
	threshold := r.percent("failure_percentage_threshold", o.GetFailurePercentageThreshold(), 85)
	if enforce := r.percent("enforcing_failure_percentage", o.GetEnforcingFailurePercentage(), 0); enforce > 0 {
		d.FailurePercentage = &FailurePercentage{
			Threshold:             threshold,
			EnforcementPercentage: enforce,
			MinimumHosts:          number(o.GetFailurePercentageMinimumHosts(), 5),
			RequestVolume:         number(o.GetFailurePercentageRequestVolume(), 50),
		}
	}
	cl.Outlier = d
	return at("outlier_detection", r.err)
}

// outlierReader keeps the first error.
type outlierReader struct{ err error }

func (r *outlierReader) duration(field string, in *durationpb.Duration, def time.Duration) time.Duration {
	if in == nil {
		return def
	}
	d, err := duration(in)
	r.fail(at(field, err))
	return d
}

func (r *outlierReader) percent(field string, in *wrapperspb.UInt32Value, def uint32) uint32 {
	n := number(in, def)
	if n > 100 {
		r.fail(wrong(field, "%d is above 100", n))
	}
	return n
}

func (r *outlierReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func number(in *wrapperspb.UInt32Value, def uint32) uint32 {
	if in == nil {
		return def
	}
	return in.GetValue()
}

// MarshalJSON returns the configuration of policy outlier_detection_experimental, but for its
// child.
func (o *OutlierDetection) MarshalJSON() ([]byte, error) {
	type success struct {
		StdevFactor           uint32 `json:"stdevFactor"`
		EnforcementPercentage uint32 `json:"enforcementPercentage"`
		MinimumHosts          uint32 `json:"minimumHosts"`
		RequestVolume         uint32 `json:"requestVolume"`
	}
	type failure struct {
		Threshold             uint32 `json:"threshold"`
		EnforcementPercentage uint32 `json:"enforcementPercentage"`
		MinimumHosts          uint32 `json:"minimumHosts"`
		RequestVolume         uint32 `json:"requestVolume"`
	}
	return json.Marshal(struct {
		Interval           string   `json:"interval"`
		BaseEjectionTime   string   `json:"baseEjectionTime"`
		MaxEjectionTime    string   `json:"maxEjectionTime"`
		MaxEjectionPercent uint32   `json:"maxEjectionPercent"`
		SuccessRate        *success `json:"successRateEjection,omitempty"`
		FailurePercentage  *failure `json:"failurePercentageEjection,omitempty"`
	}{
		seconds(o.Interval), seconds(o.BaseEjectionTime), seconds(o.MaxEjectionTime), o.MaxEjectionPercent,
		(*success)(o.SuccessRate), (*failure)(o.FailurePercentage),
	})
}

// seconds is a duration as JSON has it.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
