// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/leastrequest" // named in service configs
	_ "google.golang.org/grpc/balancer/randomsubsetting"
	_ "google.golang.org/grpc/balancer/ringhash"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
	_ "google.golang.org/grpc/balancer/weightedtarget"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// lbConfigs are configurations of policies, good ones and bad ones, in a service config.
var lbConfigs = []string{
	`"pick_first":{}`,
	`"pick_first":{"shuffleAddressList":false}`,
	`"pick_first":{"shuffleAddressList":true}`,
	`"pick_first":{"shuffleAddressList":"yes"}`,
	`"pick_first":{"shuffleAddressList":1}`,
	`"pick_first":{"shuffleAddressList":null}`,
	`"pick_first":{"nope":1}`,
	`"pick_first":null`,
	`"pick_first":[]`,
	`"pick_first":"x"`,
	`"round_robin":{}`,
	`"round_robin":{"nope":1}`,
	`"round_robin":null`,
	`"round_robin":[]`,
	`"round_robin":"x"`,
	`"least_request_experimental":{}`,
	`"least_request_experimental":{"choiceCount":0}`,
	`"least_request_experimental":{"choiceCount":1}`,
	`"least_request_experimental":{"choiceCount":2}`,
	`"least_request_experimental":{"choiceCount":10}`,
	`"least_request_experimental":{"choiceCount":11}`,
	`"least_request_experimental":{"choiceCount":-1}`,
	`"least_request_experimental":{"choiceCount":"2"}`,
	`"least_request_experimental":{"choiceCount":4294967296}`,
	`"least_request_experimental":null`,
	`"least_request_experimental":[]`,
	`"weighted_round_robin":{}`,
	`"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"1s"}`,
	`"weighted_round_robin":{"oobReportingPeriod":"0.01s"}`,
	`"weighted_round_robin":{"oobReportingPeriod":"-1s"}`,
	`"weighted_round_robin":{"oobReportingPeriod":"1"}`,
	`"weighted_round_robin":{"oobReportingPeriod":1}`,
	`"weighted_round_robin":{"blackoutPeriod":"0s"}`,
	`"weighted_round_robin":{"blackoutPeriod":"1m"}`,
	`"weighted_round_robin":{"weightExpirationPeriod":"1s"}`,
	`"weighted_round_robin":{"weightUpdatePeriod":"0.001s"}`,
	`"weighted_round_robin":{"errorUtilizationPenalty":0.5}`,
	`"weighted_round_robin":{"errorUtilizationPenalty":-0.5}`,
	`"weighted_round_robin":{"errorUtilizationPenalty":"1"}`,
	`"weighted_round_robin":{"metricNamesForComputingUtilization":["a"]}`,
	`"weighted_round_robin":{"enableOobLoadReport":1}`,
	`"weighted_round_robin":null`,
	`"ring_hash_experimental":{}`,
	`"ring_hash_experimental":{"minRingSize":10,"maxRingSize":20}`,
	`"ring_hash_experimental":{"minRingSize":20,"maxRingSize":10}`,
	`"ring_hash_experimental":{"minRingSize":0}`,
	`"ring_hash_experimental":{"minRingSize":5000}`,
	`"ring_hash_experimental":{"minRingSize":8388609}`,
	`"ring_hash_experimental":{"maxRingSize":8388609}`,
	`"ring_hash_experimental":{"maxRingSize":-1}`,
	`"ring_hash_experimental":{"minRingSize":"1"}`,
	`"ring_hash_experimental":{"requestHashHeader":"h"}`,
	`"ring_hash_experimental":{"requestHashHeader":"h-bin"}`,
	`"ring_hash_experimental":{"requestHashHeader":""}`,
	`"ring_hash_experimental":{"requestHashHeader":"A B"}`,
	`"ring_hash_experimental":null`,
	`"weighted_target_experimental":{}`,
	`"weighted_target_experimental":{"targets":{}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":1,"childPolicy":[{"round_robin":{}}]}}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":0,"childPolicy":[{"round_robin":{}}]}}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":-1,"childPolicy":[{"round_robin":{}}]}}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":1,"childPolicy":[{"nope":{}}]}}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":1,"childPolicy":[{"nope":{}},{"pick_first":{}}]}}}`,
	`"weighted_target_experimental":{"targets":{"a":{"weight":1,"childPolicy":[]}}}`,
	`"weighted_target_experimental":{"targets":[]}`,
	`"random_subsetting_experimental":{}`,
	`"random_subsetting_experimental":{"subsetSize":2}`,
	`"random_subsetting_experimental":{"subsetSize":2,"childPolicy":[{"round_robin":{}}]}`,
	`"random_subsetting_experimental":{"subsetSize":0,"childPolicy":[{"round_robin":{}}]}`,
	`"random_subsetting_experimental":{"subsetSize":-1,"childPolicy":[{"round_robin":{}}]}`,
	`"random_subsetting_experimental":{"subsetSize":99,"childPolicy":[{"round_robin":{}}]}`,
	`"random_subsetting_experimental":{"subsetSize":2,"childPolicy":[{"nope":{}}]}`,
	`"nope":{}`,
	`"nope":{}},{"round_robin":{}`,
	`"nope":{},"round_robin":{}`,
	`"round_robin":{},"pick_first":{}`,
	`"round_robin":{}},{"pick_first":{}`,
	`"pick_first":{"shuffleAddressList":1}},{"round_robin":{}`,
	`"ROUND_ROBIN":{}`,
	``,
}

// namedServers are servers whose replies say which it was.
func namedServers(p *probe.P, n int) resolver.State {
	var s resolver.State
	for i := range n {
		server := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
			return rig.M(string(rune('a' + i))), nil
		}}}.Serve(p)
		a := resolver.Address{Addr: server.Listener.Addr().String()}
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{a}})
	}
	return s
}

// answersOf makes calls, and returns who answered.
func answersOf(ctx context.Context, cc grpc.ClientConnInterface, n int) (answers []string, errs []string) {
	for range n {
		out := new(rig.Msg)
		if err := cc.Invoke(ctx, rig.Unary, rig.M("q"), out); err != nil {
			errs = append(errs, rig.Err(err))
			continue
		}
		answers = append(answers, out.GetValue())
	}
	return answers, errs
}

// shares tells how many servers answered, and whether all of them did alike.
func shares(answers []string) string {
	count := make(map[string]int)
	for _, a := range answers {
		count[a]++
	}
	n := slices.Sorted(maps.Values(count))
	if len(n) == 0 {
		return "nobody answered"
	}
	return fmt.Sprintf("%d answered, alike: %v", len(n), n[0] == n[len(n)-1])
}

// settled makes calls until several in a row bring no server that was not there before:
// connections come up one after the other, some of them because of a call.
func settled(ctx context.Context, cc grpc.ClientConnInterface) {
	seen := make(map[string]bool)
	for news := true; news; {
		news = false
		answers, _ := answersOf(ctx, cc, 1)
		if len(answers) == 0 {
			return
		}
		probe.Settle(0)
		answers, _ = answersOf(ctx, cc, 60)
		for _, a := range answers {
			news = news || !seen[a]
			seen[a] = true
		}
	}
}

// byChance are policies whose shares are not the same each time.
func byChance(config string) bool {
	for _, part := range []string{"ring_hash", "least_request", "random_subsetting"} {
		if strings.Contains(config, part) {
			return true
		}
	}
	return false
}

func lbProbes() []probe.Probe {
	var out []probe.Probe
	for _, config := range lbConfigs {
		text := `{"loadBalancingConfig":[{` + config + `}]}`
		out = append(out, probe.Probe{Name: "lb/" + config, Run: func(p *probe.P) {
			cc, r := lbChannel(p, text)
			if cc == nil {
				return
			}
			r(namedServers(p, 3))
			settled(p.Context(), cc)
			answers, errs := answersOf(metadata.AppendToOutgoingContext(p.Context(), "h", "one"), cc, 60)
			if byChance(config) {
				p.Printf("answered: %v", len(answers) > 0)
			} else {
				switch said := shares(answers); {
				case strings.Contains(config, "weighted_round_robin"): // the schedule begins anywhere
					p.OneOf("shares", said, "3 answered, alike: true", "3 answered, alike: false")
				default:
					p.Printf("%s", said)
				}
			}
			slices.Sort(errs)
			p.Printf("%q", slices.Compact(errs))
		}})
	}
	for _, policy := range []string{"pick_first", "round_robin", "least_request_experimental", "weighted_round_robin", "ring_hash_experimental"} {
		out = append(out, lbEvents(policy)...)
	}
	return out
}

// lbChannel is a channel with a default service config; what it returns gives it addresses.
func lbChannel(p *probe.P, config string) (*grpc.ClientConn, func(resolver.State)) {
	r := manual.NewBuilderWithScheme("manual")
	cc, err := grpc.NewClient("manual:///x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(config), quick)
	if err != nil {
		p.Printf("refused") // what is wrong each policy says in its own words
		return nil, nil
	}
	p.Cleanup(func() { _ = cc.Close() })
	return cc, r.InitialState
}

// lbEvents are what may happen to the servers of a policy.
func lbEvents(policy string) []probe.Probe {
	var out []probe.Probe
	add := func(name string, run func(*probe.P, *grpc.ClientConn, *manual.Resolver)) {
		out = append(out, probe.Probe{Name: "lb/" + policy + " when " + name, Run: func(p *probe.P) {
			config := "{}"
			if strings.HasPrefix(policy, "ring_hash") {
				config = `{"requestHashHeader":"h"}`
			}
			cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":`+config+`}]}`), quick)
			run(p, cc, r)
		}})
	}
	add("there is nobody", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		r.InitialState(addresses("127.0.0.1:1"))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", cc.GetState())
	})
	add("there are no addresses", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		r.InitialState(resolver.State{})
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", cc.GetState())
	})
	add("the resolver fails", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		cc.Connect()
		probe.Settle(0) // the resolver is built
		r.CC().ReportError(errors.New("no names"))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", cc.GetState())
	})
	add("the resolver fails after no addresses", failsAfterNothing)
	add("the resolver fails later", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		r.InitialState(namedServers(p, 1))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		r.CC().ReportError(errors.New("no names"))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", cc.GetState())
	})
	add("some are not there", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		s := namedServers(p, 2)
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: "127.0.0.1:1"}}})
		r.InitialState(s)
		settled(oneHash(p.Context()), cc)
		_, errs := answersOf(oneHash(p.Context()), cc, 40)
		p.Printf("%q %v", errs, cc.GetState())
	})
	add("all are replaced", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		r.InitialState(namedServers(p, 2))
		p.Printf("%v", cc.Invoke(oneHash(p.Context()), rig.Unary, rig.M("q"), new(rig.Msg)))
		p.Printf("%v", r.CC().UpdateState(namedServers(p, 1)))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", r.CC().UpdateState(resolver.State{}))
		p.Printf("%s", call(oneHash(p.Context()), cc))
		p.Printf("%v", r.CC().UpdateState(namedServers(p, 1)))
		p.Printf("%s", call(oneHash(p.Context()), cc, grpc.WaitForReady(true)))
	})
	add("endpoints have two addresses", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		s := namedServers(p, 1)
		s.Endpoints[0].Addresses = append([]resolver.Address{{Addr: "127.0.0.1:1"}}, s.Endpoints[0].Addresses...)
		r.InitialState(s)
		p.Printf("%s", call(oneHash(p.Context()), cc, grpc.WaitForReady(true)))
	})
	add("addresses come twice", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		s := namedServers(p, 1)
		s.Endpoints = append(s.Endpoints, s.Endpoints[0])
		r.InitialState(s)
		p.Printf("%s", call(oneHash(p.Context()), cc))
	})
	add("the server goes", serverGoes)
	add("the policy changes", func(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
		s := namedServers(p, 1)
		r.InitialState(s)
		p.Printf("%s", call(oneHash(p.Context()), cc))
		for _, other := range []string{"round_robin", "pick_first", policy} {
			s.ServiceConfig = r.CC().ParseServiceConfig(`{"loadBalancingConfig":[{"` + other + `":{}}]}`)
			p.Printf("%v", r.CC().UpdateState(s))
			p.Printf("%s", call(oneHash(p.Context()), cc))
		}
	})
	return out
}

// oneHash has RPCs go to one place of a ring.
func oneHash(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "h", "one")
}

func failsAfterNothing(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
	r.InitialState(namedServers(p, 1))
	p.Printf("%s", call(oneHash(p.Context()), cc))
	p.Printf("%v", r.CC().UpdateState(resolver.State{}))
	r.CC().ReportError(errors.New("no names"))
	p.Printf("%s", call(oneHash(p.Context()), cc))
}

func serverGoes(p *probe.P, cc *grpc.ClientConn, r *manual.Resolver) {
	s := rig.Pair{TCP: true}.Serve(p)
	r.InitialState(addresses(s.Listener.Addr().String()))
	p.Printf("%s", call(oneHash(p.Context()), cc))
	s.Server.Stop()
	for state := cc.GetState(); state != connectivity.TransientFailure && state != connectivity.Idle; state = cc.GetState() {
		if !cc.WaitForStateChange(p.Context(), state) {
			break
		}
	}
	text := call(oneHash(p.Context()), cc)
	p.Printf("%v", strings.Contains(text, "refused"))
}
