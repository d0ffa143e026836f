// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"strings"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	faultcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// filtered is a client's Listener with filters.
func filtered(name, route string, filters ...*hcmv3.HttpFilter) *listenerv3.Listener {
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: mustAny(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: route, ConfigSource: ads}},
		HttpFilters:    append(filters, filter("router", &routerv3.Router{})),
	})}}
}

var always = &typev3.FractionalPercent{Numerator: 100}

// TestA33Faults: the filter's, and a route's in its place.
func TestA33Faults(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	abort := &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HttpStatus{HttpStatus: 404}, Percentage: always}}
	byHeader := &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HeaderAbort_{HeaderAbort: &faultv3.FaultAbort_HeaderAbort{}}, Percentage: always}}
	delay := &faultv3.HTTPFault{Delay: &faultcommonv3.FaultDelay{
		FaultDelaySecifier: &faultcommonv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Hour)}, Percentage: always,
	}}
	l := filtered("target", "r", filter("fault", abort))
	p.set(l, routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	if _, err := try(t.Context(), t, cc); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
	override := to("c")
	override.TypedPerFilterConfig = map[string]*anypb.Any{"fault": mustAny(byHeader)}
	p.set(l, routes(override), cluster("c"), assignment("c", local("z", 0, 1, a)))
	becomes(t, cc, "a")
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-envoy-fault-abort-grpc-request", "9")
	if _, err := try(ctx, t, cc); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	override.TypedPerFilterConfig = map[string]*anypb.Any{"fault": mustAny(delay)}
	p.set(l, routes(override), cluster("c"), assignment("c", local("z", 0, 1, a)))
	until(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := try(ctx, t, cc)
		return status.Code(err) == codes.DeadlineExceeded
	})
}

// TestA39Filters: a filter that is not known is refused, unless it is optional.
func TestA39Filters(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	unknown := filter("unknown", &faultcommonv3.FaultDelay{})
	p.set(filtered("target", "r", unknown), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	if _, err := try(t.Context(), t, cc); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no HTTP filter is known") {
		t.Error(err)
	}
	unknown.IsOptional = true
	p.set(filtered("target", "r", unknown), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	becomes(t, cc, "a")
	// Without the router at the end there is no way out of a chain.
	l := filtered("target", "r")
	changeHCM(l, func(m *hcmv3.HttpConnectionManager) { m.HttpFilters = nil })
	p.set(l, routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	until(t, func() bool {
		_, nacks := p.counts()
		return len(nacks) > 1
	})
	if got := call(t, cc); got != "a" {
		t.Errorf("%q: what was good is not kept", got)
	}
}
