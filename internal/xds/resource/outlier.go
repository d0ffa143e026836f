// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/internal/serviceconfig"
)

// OutlierDetection says when endpoints are ejected because of their errors (A50).
type OutlierDetection struct {
	Interval, BaseEjectionTime, MaxEjectionTime time.Duration
	MaxEjectionPercent                          uint32
	SuccessRate                                 *SuccessRate       // nil disables ejection by success rate
	FailurePercentage                           *FailurePercentage // nil disables ejection by failure percentage
}

// SuccessRate ejects endpoints whose success rate is more than StdevFactor/1000 standard
// deviations below the mean.
type SuccessRate struct {
	StdevFactor, EnforcementPercentage, MinimumHosts, RequestVolume uint32
}

// FailurePercentage ejects endpoints whose percentage of failures is above Threshold.
type FailurePercentage struct {
	Threshold, EnforcementPercentage, MinimumHosts, RequestVolume uint32
}

// outlierReader reads fields and keeps the first error.
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

// MarshalJSON returns the configuration of policy outlier_detection_experimental without its
// child policy.
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

// seconds returns a duration in its JSON form.
func seconds(d time.Duration) string {
	return serviceconfig.Duration(d).String()
}
