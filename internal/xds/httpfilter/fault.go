// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"fmt"
	"math"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/xds/match"
)

// Fault is the filter for fault injection on clients (A33).
type Fault struct{}

// FaultConfig says which faults to inject into RPCs.
type FaultConfig struct {
	Delay *FaultDelay // nil means no delay
	Abort *FaultAbort // nil means no abort
	// MaxActive limits the number of faults that are in progress at a time in the process.
	MaxActive uint32
}

// FaultDelay delays RPCs before anything is sent.
type FaultDelay struct {
	Share match.Fraction // with ByHeader, the largest share that headers may ask for
	// ByHeader says to take the delay from the RPC's headers.
	ByHeader bool
	Delay    time.Duration
	// Per is the denominator of the share in headers.
	Per uint32
}

// FaultAbort ends RPCs before anything is sent. Share, ByHeader and Per are as in
// FaultDelay.
type FaultAbort struct {
	Share    match.Fraction
	ByHeader bool
	Code     codes.Code
	Per      uint32
}

// Types implements Kind.
func (Fault) Types() []string { return []string{"envoy.extensions.filters.http.fault.v3.HTTPFault"} }

// Sides implements Kind.
func (Fault) Sides() Side { return Client }

// Terminal implements Kind.
func (Fault) Terminal() bool { return false }

// Parse implements Kind. The Config is a *FaultConfig.
func (Fault) Parse(m Message) (Config, error) { return parseFault(m) }

// ParseOverride implements Kind.
func (Fault) ParseOverride(m Message) (Config, error) { return parseFault(m) }

func parseFault(m Message) (Config, error) {
	var in faultv3.HTTPFault
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	out := &FaultConfig{MaxActive: math.MaxUint32}
	if n := in.GetMaxActiveFaults(); n != nil {
		out.MaxActive = n.GetValue()
	}
	var err error
	if in.GetDelay() != nil {
		if out.Delay, err = parseDelay(in.GetDelay()); err != nil {
			return nil, fmt.Errorf("delay: %w", err)
		}
	}
	if in.GetAbort() != nil {
		if out.Abort, err = parseAbort(in.GetAbort()); err != nil {
			return nil, fmt.Errorf("abort: %w", err)
		}
	}
	return out, nil
}

func parseDelay(in *commonv3.FaultDelay) (*FaultDelay, error) {
	share, err := match.ParseFraction(in.GetPercentage())
	if err != nil {
		return nil, fmt.Errorf("percentage: %w", err)
	}
	out := &FaultDelay{Share: share, Per: denominator(in.GetPercentage())}
	switch d := in.GetFaultDelaySecifier().(type) {
	case *commonv3.FaultDelay_FixedDelay:
		if err := d.FixedDelay.CheckValid(); err != nil {
			return nil, fmt.Errorf("fixed_delay: %w", err)
		}
		if out.Delay = d.FixedDelay.AsDuration(); out.Delay < 0 {
			return nil, fmt.Errorf("fixed_delay: %v is negative", out.Delay)
		}
	case *commonv3.FaultDelay_HeaderDelay_:
		out.ByHeader = true
	default:
		return nil, fmt.Errorf("fault_delay_secifier of type %T is not supported", d)
	}
	return out, nil
}

func parseAbort(in *faultv3.FaultAbort) (*FaultAbort, error) {
	share, err := match.ParseFraction(in.GetPercentage())
	if err != nil {
		return nil, fmt.Errorf("percentage: %w", err)
	}
	out := &FaultAbort{Share: share, Per: denominator(in.GetPercentage())}
	switch a := in.GetErrorType().(type) {
	case *faultv3.FaultAbort_HttpStatus:
		if a.HttpStatus < 200 || a.HttpStatus >= 600 {
			return nil, fmt.Errorf("http_status: %d is not in [200, 600)", a.HttpStatus)
		}
		out.Code = grpcwire.HTTPStatusCode(int(a.HttpStatus))
	case *faultv3.FaultAbort_GrpcStatus:
		if a.GrpcStatus > uint32(codes.Unauthenticated) {
			return nil, fmt.Errorf("grpc_status: %d is no code", a.GrpcStatus)
		}
		out.Code = codes.Code(a.GrpcStatus)
	case *faultv3.FaultAbort_HeaderAbort_:
		out.ByHeader = true
	default:
		return nil, fmt.Errorf("error_type of type %T is not supported", a)
	}
	return out, nil
}

func denominator(in *typev3.FractionalPercent) uint32 {
	switch in.GetDenominator() {
	case typev3.FractionalPercent_TEN_THOUSAND:
		return 10_000
	case typev3.FractionalPercent_MILLION:
		return 1_000_000
	default:
		return 100
	}
}
