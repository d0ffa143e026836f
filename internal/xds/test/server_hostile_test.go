// SPDX-License-Identifier: Apache-2.0

package test

import (
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestA36InvalidListener: what is wrong is refused by its field, and what there was stays.
func TestA36InvalidListener(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	cc := s.dial("")
	regex := takes("", "")
	regex.VirtualHosts[0].Routes[0].Match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: "a("}}
	twice := inline(takes("", ""))
	rbac := everybody(rbacconfigv3.RBAC_DENY)
	rbac.Rules.Policies["everybody"].Principals[0].Identifier = &rbacconfigv3.Principal_Any{}
	for field, l := range map[string]*listenerv3.Listener{
		"route_config.virtual_hosts[0].routes[0].match: safe_regex": s.listener(inline(regex)),
		"filter_chains[1].filter_chain_match":                       s.listener(twice, twice, nil),
		"http_filters[0].typed_config":                              s.listener(inline(takes("", ""), filter("rbac", rbac))),
		"the last one is no terminal filter":                        s.listener(headless()),
	} {
		p.set(l)
		until(t, func() bool {
			_, nacks := p.counts()
			return len(nacks) > 0 && strings.Contains(nacks[len(nacks)-1], field)
		})
		if err := empty(t, cc); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	if n := len(s.modes); n != 0 {
		t.Errorf("%d changes of the mode", n)
	}
}

// headless is a chain without a terminal filter.
func headless() *listenerv3.FilterChain {
	c := inline(takes("", ""))
	c.Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: mustAny(hcmWithoutRouter())}
	return c
}

// TestA36Flapping: a Listener that changes all the time, with RPCs under way: they end well, or
// with UNAVAILABLE, and in the end all is well.
func TestA36Flapping(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	good := s.listener(inline(takes("", "")))
	p.set(good)
	s.wantMode(connectivity.ServingModeServing)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		cc := s.dial("")
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := empty(t, cc); err != nil && status.Code(err) != codes.Unavailable {
					t.Error(err)
				}
			}
		})
	}
	for i := range 60 {
		switch i % 3 {
		case 0:
			p.set(s.listener(inline(takes("x", "/grpc"))))
		case 1:
			p.set(s.listener(rds("r")), takes("r", ""))
		default:
			p.set()
		}
	}
	p.set(good)
	close(stop)
	wg.Wait()
	until(t, func() bool { return empty(t, s.dial("")) == nil })
}

// TestA36ManyChains: the first of thousands of matches costs a connection no more than it may.
func TestA36ManyChains(t *testing.T) {
	p := newPlane(t)
	s := serveXDS(t, serverPool(t, p, ""), "127.0.0.1")
	var chains []*listenerv3.FilterChain
	for i := range uint32(2000) {
		c := inline(takes("", "/other"))
		c.FilterChainMatch = &listenerv3.FilterChainMatch{SourcePorts: []uint32{i + 1}}
		chains = append(chains, c)
	}
	local := inline(takes("", ""))
	local.FilterChainMatch = &listenerv3.FilterChainMatch{SourcePrefixRanges: []*corev3.CidrRange{{AddressPrefix: "127.0.0.1", PrefixLen: wrapperspb.UInt32(32)}}}
	p.set(s.listener(append(chains, local, nil)...))
	s.wantMode(connectivity.ServingModeServing)
	if err := empty(t, s.dial("")); err != nil {
		t.Error(err)
	}
}
