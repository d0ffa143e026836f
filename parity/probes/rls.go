// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

func printKeys(p *probe.P, seen map[string]bool) {
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		p.Printf("%s", k)
	}
}

func init() { balancer.Register(addressChild{}) }

// addressChild is a child of RLS, which goes to the address that a look-up named.
type addressChild struct{}

type addressConfig struct {
	serviceconfig.LoadBalancingConfig
	Address string
}

func (addressChild) Name() string { return "probe_address" }

func (addressChild) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &addressConfig{}
	if err := json.Unmarshal(js, c); err != nil {
		return nil, err
	}
	if c.Address == "refused" {
		return nil, errors.New("refused by the child")
	}
	return c, nil
}

func (addressChild) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return addressBalancer{balancer.Get(pickfirst.Name).Build(cc, o)}
}

type addressBalancer struct{ balancer.Balancer }

func (b addressBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	a := resolver.Address{Addr: s.BalancerConfig.(*addressConfig).Address}
	return b.Balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{
		Addresses: []resolver.Address{a}, Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{a}}},
	}})
}

// lookups is a route lookup service.
type lookups struct {
	addr string

	mu      sync.Mutex
	asked   []string
	targets []string
	header  string
	err     error
	hangs   bool
}

func newLookups(p *probe.P) *lookups {
	s := &lookups{}
	gs := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		in := new(emptypb.Empty)
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		method, _ := grpc.MethodFromServerStream(stream)
		s.mu.Lock()
		s.asked = append(s.asked, method+" "+lookupText(in.ProtoReflect().GetUnknown())+" by "+agents(stream.Context()))
		targets, header, err, hangs := s.targets, s.header, s.err, s.hangs
		s.mu.Unlock()
		if hangs {
			<-stream.Context().Done()
		}
		if err != nil {
			return err
		}
		var b []byte
		for _, t := range targets {
			b = protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), t)
		}
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), header)
		out := new(emptypb.Empty)
		out.ProtoReflect().SetUnknown(b)
		return stream.SendMsg(out)
	}))
	l := rig.Listen()
	go func() { _ = gs.Serve(l) }()
	p.Cleanup(gs.Stop)
	s.addr = l.Addr().String()
	return s
}

// lookupText prints the fields of a request that are known to be there.
func lookupText(b []byte) string {
	var out []string
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "garbage"
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return "garbage"
		}
		value := fmt.Sprintf("%q", b[:n])
		if kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(b)
			value = fmt.Sprintf("%q", text)
		}
		out = append(out, fmt.Sprintf("%d:%s", number, value))
		b = b[n:]
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const lookupKeys = `"grpcKeybuilders":[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["user","who"]}],"extraKeys":{"host":"h","service":"s","method":"m"},"constantKeys":{"c":"1"}}]`

func routeLookupProbe(name, fields string, set func(s *lookups, backend string), opts ...grpc.DialOption) probe.Probe {
	return probe.Probe{Name: "rls/" + name, Run: func(p *probe.P) {
		backend := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			return rig.M(fmt.Sprintf("a%q", metadata.ValueFromIncomingContext(ctx, "x-google-rls-data"))), nil
		}}}.Serve(p).Listener.Addr().String()
		s := newLookups(p)
		set(s, backend)
		fields := strings.NewReplacer("SERVICE", s.addr, "BACKEND", backend).Replace(fields)
		text := `{"loadBalancingConfig":[{"rls_experimental":{"routeLookupConfig":{` + fields + `},"childPolicy":[{"nope":{}},{"probe_address":{}}],"childPolicyConfigTargetFieldName":"Address"}}]}`
		cc, r := manualChannel(p, append(opts, quick)...)
		parsed := make(chan string, 1)
		r.BuildCallback = func(_ resolver.Target, rcc resolver.ClientConn, _ resolver.BuildOptions) {
			c := rcc.ParseServiceConfig(text)
			parsed <- rig.Err(c.Err)
			if c.Err == nil {
				go func() { _ = rcc.UpdateState(resolver.State{Addresses: addresses(backend).Addresses, ServiceConfig: c}) }()
			}
		}
		cc.Connect()
		result := <-parsed
		result, _, _ = strings.Cut(result, " grpc_keybuilders:") // a message prints in no order that is promised
		p.Printf("%s", result)
		if result != "nil" {
			return
		}
		ctx := metadata.AppendToOutgoingContext(p.Context(), "who", "w", "user", "x", "user", "y", "other", "z")
		ends := make(map[string]bool)
		wait := 700 * time.Millisecond
		if s.hangs { // until lookupServiceTimeout
			wait = 5 * time.Second
		}
		for range 3 {
			ctx, cancel := probe.WithTimeout(ctx, wait)
			ends[call(ctx, cc)] = true
			cancel()
		}
		printKeys(p, ends)
		s.mu.Lock()
		defer s.mu.Unlock()
		p.Printf("%q", slices.Compact(slices.Sorted(slices.Values(s.asked))))
	}}
}

// routeLookupProbes have a look-up service of their own.
func routeLookupProbes() []probe.Probe {
	var out []probe.Probe
	add := func(name, fields string, set func(s *lookups, backend string)) {
		out = append(out, routeLookupProbe(name, fields, set))
	}
	good := func(s *lookups, backend string) { s.targets = []string{backend} }
	const base = `"lookupService":"SERVICE","cacheSizeBytes":1000,`
	add("found", base+lookupKeys, good)
	out = append(out, routeLookupProbe("a user agent", base+lookupKeys, good, grpc.WithUserAgent("mine")))
	add("found, and header data", base+lookupKeys, func(s *lookups, backend string) { good(s, backend); s.header = "data" })
	add("two targets", base+lookupKeys, func(s *lookups, backend string) { s.targets = []string{backend, "127.0.0.1:1"} })
	add("the first is down", base+lookupKeys, func(s *lookups, backend string) { s.targets = []string{"127.0.0.1:1", backend} })
	add("no targets", base+lookupKeys, func(*lookups, string) {})
	add("no targets, a default", base+`"defaultTarget":"BACKEND",`+lookupKeys, func(*lookups, string) {})
	add("an empty target", base+lookupKeys, func(s *lookups, _ string) { s.targets = []string{""} })
	add("a target that the child refuses", base+lookupKeys, func(s *lookups, _ string) { s.targets = []string{"refused"} })
	add("an error", base+lookupKeys, func(s *lookups, _ string) { s.err = status.Error(codes.PermissionDenied, "not you") })
	add("an error, a default", base+`"defaultTarget":"BACKEND",`+lookupKeys, func(s *lookups, _ string) { s.err = status.Error(codes.PermissionDenied, "not you") })
	add("a default that is refused", base+`"defaultTarget":"refused",`+lookupKeys, good)
	add("no answer", base+`"lookupServiceTimeout":"2s",`+lookupKeys, func(s *lookups, _ string) { s.hangs = true })
	add("no answer, a default", base+`"lookupServiceTimeout":"2s","defaultTarget":"BACKEND",`+lookupKeys, func(s *lookups, _ string) { s.hangs = true })
	for name, builders := range map[string]string{
		"of another service":       `[{"names":[{"service":"x"}]}]`,
		"of a method":              `[{"names":[{"service":"probe.Probe","method":"Unary"}],"constantKeys":{"c":"m"}},{"names":[{"service":"probe.Probe"}],"constantKeys":{"c":"s"}}]`,
		"of another method":        `[{"names":[{"service":"probe.Probe","method":"Other"}],"constantKeys":{"c":"m"}},{"names":[{"service":"probe.Probe"}],"constantKeys":{"c":"s"}}]`,
		"header that is not there": `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["none"]}]}]`,
		"header twice":             `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["user"]}]}]`,
		"required":                 `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["user"],"requiredMatch":true}]}]`,
		"key twice":                `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["user"]},{"key":"u","names":["who"]}]}]`,
		"key also constant":        `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":["user"]}],"constantKeys":{"u":"1"}}]`,
		"key empty":                `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"","names":["user"]}]}]`,
		"no header names":          `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":[]}]}]`,
		"header name empty":        `[{"names":[{"service":"probe.Probe"}],"headers":[{"key":"u","names":[""]}]}]`,
		"extra key twice":          `[{"names":[{"service":"probe.Probe"}],"extraKeys":{"host":"h","service":"h"}}]`,
		"constant key empty":       `[{"names":[{"service":"probe.Probe"}],"constantKeys":{"":"1"}}]`,
		"no names":                 `[{"names":[]}]`,
		"service empty":            `[{"names":[{"service":""}]}]`,
		"name twice":               `[{"names":[{"service":"probe.Probe"},{"service":"probe.Probe"}]}]`,
		"none":                     `[]`,
	} {
		add("keys/"+name, base+`"grpcKeybuilders":`+builders, good)
	}
	for name, fields := range map[string]string{
		"no service":              `"cacheSizeBytes":1000,`,
		"service empty":           `"lookupService":"","cacheSizeBytes":1000,`,
		"service of no scheme":    `"lookupService":"nope:///SERVICE","cacheSizeBytes":1000,`,
		"no cache":                `"lookupService":"SERVICE",`,
		"cache of 0":              `"lookupService":"SERVICE","cacheSizeBytes":0,`,
		"cache below 0":           `"lookupService":"SERVICE","cacheSizeBytes":-1,`,
		"cache of a string":       `"lookupService":"SERVICE","cacheSizeBytes":"1000",`,
		"stale without max":       base + `"staleAge":"1s",`,
		"stale beyond max":        base + `"staleAge":"9s","maxAge":"5s",`,
		"max beyond five minutes": base + `"maxAge":"600s",`,
		"timeout 0":               base + `"lookupServiceTimeout":"0s",`,
		"timeout bad":             base + `"lookupServiceTimeout":"x",`,
		"unknown field":           base + `"nope":1,`,
	} {
		add("config/"+name, fields+lookupKeys, good)
	}
	return out
}
