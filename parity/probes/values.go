// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
)

// targets are what programs give to NewClient.
var targets = []string{
	"", "localhost", "localhost:1", "127.0.0.1:1", "[::1]:1", "::1", "[::1]", ":80", "dns:localhost:1", "dns:///localhost:1",
	"dns://8.8.8.8/localhost:1", "dns:///", "dns:", "passthrough:///x y", "passthrough:", "passthrough:///", "unix:a", "unix:/a/b",
	"unix:///a/b", "unix://a/b", "unix-abstract:a", "unix-abstract:///a", "unix-abstract://x/a", "nope:///x", "nope:x", "http://a.b/c?d=e#f", "%zz",
	"a b", "dns:///a%20b", "DNS:///localhost:1", "xds:///a", "dns://@:/x", "dns:///localhost:1:2", "localhost:name", "vsock:1:2",
	"passthrough:///a?b=c", "passthrough://auth/é",
}

// looksUp are those of targets that ask a DNS server for a name that nobody has.
var looksUp = []string{"nope:///x", "nope:x", "http://a.b/c?d=e#f", "a b", "dns:///a%20b", "xds:///a", "dns://8.8.8.8/localhost:1", "dns://@:/x"}

// equaler decides itself what it is equal to.
type equaler struct{ v int }

func (e equaler) Equal(o any) bool { other, ok := o.(equaler); return ok && e.v%10 == other.v%10 }
func (e equaler) String() string   { return fmt.Sprint("equaler ", e.v) }

func targetProbes() []probe.Probe {
	var out []probe.Probe
	for _, t := range targets {
		for _, how := range []string{"NewClient", "Dial"} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("target/%s %q", how, t), Run: func(p *probe.P) {
				dial := grpc.NewClient
				if how == "Dial" {
					dial = grpc.Dial
				}
				cc, err := dial(t, grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					p.Printf("%s", rig.Err(err))
					return
				}
				defer cc.Close()
				p.Printf("Target=%q CanonicalTarget=%q", cc.Target(), cc.CanonicalTarget())
			}})
		}
		if slices.Contains(looksUp, t) {
			continue
		}
		out = append(out, probe.Probe{Name: fmt.Sprintf("target/authority of %q", t), Run: func(p *probe.P) {
			b := &tellingBalancer{}
			cc, err := grpc.NewClient(t, grpc.WithTransportCredentials(insecure.NewCredentials()), b.use(p))
			if err != nil {
				p.Printf("%s", rig.Err(err))
				return
			}
			defer cc.Close()
			cc.Connect()
			select {
			case o := <-b.built:
				p.Printf("Authority=%q Target=%q", o.Authority, o.Target.String())
			case err := <-b.failed:
				p.Printf("resolver: %v", err)
			case <-probe.Quiet(300 * time.Millisecond):
				p.Printf("no balancer")
			}
		}})
	}
	return out
}

var valueProbes = []probe.Probe{
	{Name: "resolver.Target", Run: func(p *probe.P) {
		for _, s := range targets {
			u, err := urlParse(s)
			if err != nil {
				p.Printf("%q: %v", s, err)
				continue
			}
			t := resolver.Target{URL: *u}
			p.Printf("%q: %q %q", s, t.Endpoint(), t.String())
		}
	}},
	{Name: "resolver.Address", Run: func(p *probe.P) {
		a := resolver.Address{Addr: "a:1", ServerName: "s", Attributes: attributes.New("k", "v"), BalancerAttributes: attributes.New("b", 1)}
		p.Printf("%v|%+v|%s", a, a, a)
		p.Printf("%v", resolver.Address{})
		p.Printf("%v %v", a.Equal(a), a.Equal(resolver.Address{Addr: "a:1"}))
		b := a
		b.Metadata = "m"
		p.Printf("metadata: %v", a.Equal(b))
		b = a
		b.BalancerAttributes = nil
		p.Printf("balancer attributes: %v", a.Equal(b))
		p.Printf("%v", []resolver.Address{{Addr: "x"}, {Addr: "y"}})
		p.Printf("%v", resolver.Address{Addr: "x", Attributes: attributes.New("k", "v").WithValue("l", 1.5), Metadata: 5})
		p.Printf("%v", resolver.Endpoint{Addresses: []resolver.Address{a}, Attributes: attributes.New("k", []int(nil))})
		j, err := json.Marshal(a)
		p.Printf("%s %v", j, err)
	}},
	{Name: "attributes with nil values", Run: func(p *probe.P) {
		set := attributes.New("k", "v").WithValue("j", nil)
		p.Printf("%v %v %v", set, set.Value("j"), set.Value("k"))
		p.Printf("as if it had never been: %v", set.Equal(attributes.New("k", "v")))
		p.Printf("twice: %v", set.Equal(attributes.New("j", "w").WithValue("k", "v").WithValue("j", nil)))
	}},
	{Name: "resolver.AddressMap", Run: func(p *probe.P) {
		m := resolver.NewAddressMap()
		a := resolver.Address{Addr: "a", Attributes: attributes.New("k", equaler{1})}
		m.Set(a, 1)
		m.Set(resolver.Address{Addr: "a", Attributes: attributes.New("k", equaler{11})}, 2)
		m.Set(resolver.Address{Addr: "a", BalancerAttributes: attributes.New("k", 1)}, 3)
		m.Set(resolver.Address{Addr: "a", Metadata: 5}, 4)
		m.Set(resolver.Address{Addr: "a", ServerName: "s"}, 5)
		v, found := m.Get(a)
		p.Printf("%d: %v %v", m.Len(), v, found)
		m.Delete(resolver.Address{Addr: "none"})
		m.Delete(a)
		p.Printf("%d %d %d", m.Len(), len(m.Keys()), len(m.Values()))
		_, found = m.Get(a)
		p.Printf("%v", found)
	}},
	{Name: "resolver.EndpointMap", Run: func(p *probe.P) {
		m := resolver.NewEndpointMap[int]()
		e := func(addrs ...string) resolver.Endpoint {
			var out resolver.Endpoint
			for _, a := range addrs {
				out.Addresses = append(out.Addresses, resolver.Address{Addr: a})
			}
			return out
		}
		m.Set(e("a", "b"), 1)
		m.Set(e("b", "a"), 2)
		m.Set(e("a"), 3)
		m.Set(e("a", "a"), 4)
		m.Set(e("a", "a", "b"), 5)
		m.Set(e(), 6)
		v, found := m.Get(e("a", "b"))
		p.Printf("%d: %v %v", m.Len(), v, found)
		v, found = m.Get(e("a", "b", "a"))
		p.Printf("%v %v", v, found)
		vs := m.Values()
		slices.Sort(vs)
		p.Printf("%v %d", vs, len(m.Keys()))
		m.Delete(e("b", "a"))
		m.Delete(e("x"))
		p.Printf("%d", m.Len())
		with := e("a")
		with.Attributes = attributes.New("k", "v")
		_, found = m.Get(with)
		p.Printf("attributes: %v", found)
	}},
	{Name: "resolver.ValidateEndpoints", Run: func(p *probe.P) {
		p.Printf("%v", resolver.ValidateEndpoints(nil))
		p.Printf("%v", resolver.ValidateEndpoints([]resolver.Endpoint{{}}))
		p.Printf("%v", resolver.ValidateEndpoints([]resolver.Endpoint{{}, {Addresses: []resolver.Address{{}}}}))
	}},
	{Name: "resolver registry", Alone: true, Run: func(p *probe.P) {
		p.Printf("%s", resolver.GetDefaultScheme())
		for _, s := range []string{"dns", "DNS", "passthrough", "unix", "unix-abstract", "nope", ""} {
			b := resolver.Get(s)
			p.Printf("%s: %v", s, b != nil)
		}
		resolver.Register(sayResolver("x"))
		p.Printf("%v", resolver.Get("say") != nil)
		resolver.SetDefaultScheme("say")
		p.Printf("%s", resolver.GetDefaultScheme())
	}},
	{Name: "resolver registry, upper case", Alone: true, Run: func(p *probe.P) {
		resolver.Register(upperResolver{})
		p.Printf("%v %v", resolver.Get("UPPER") != nil, resolver.Get("upper") != nil)
	}},
	{Name: "attributes", Run: func(p *probe.P) {
		a := attributes.New("k", "v").WithValue(1, equaler{1}).WithValue("k", "w")
		p.Printf("%v %v %v", a.Value("k"), a.Value(1), a.Value("none"))
		b := attributes.New(1, equaler{11}).WithValue("k", "w")
		p.Printf("%v %v %v", a.Equal(b), a.Equal(nil), (*attributes.Attributes)(nil).Equal(nil))
		p.Printf("%v", a.Equal(attributes.New("k", "w")))
		var none *attributes.Attributes
		p.Printf("%v %v", none.Value("k"), none.WithValue("k", 1).Value("k"))
		p.Printf("%s|%v|%+v", attributes.New("k", "v"), attributes.New("k", 5), attributes.New(1, equaler{1}))
		p.Printf("%s", none)
		j, err := attributes.New("k", "v").MarshalJSON()
		p.Printf("%s %v", j, err)
		j, err = json.Marshal(none)
		p.Printf("%s %v", j, err)
	}},
	{Name: "attributes that cannot be compared", Run: func(p *probe.P) {
		rig.Try(p, "slice", func() error {
			a := attributes.New("k", []int{1})
			p.Printf("%v", a.Equal(attributes.New("k", []int{1})))
			return nil
		})
	}},
	{Name: "connectivity", Run: func(p *probe.P) {
		for s := range connectivity.State(6) {
			p.Printf("%d %v", int(s), s)
		}
		p.Printf("%v", connectivity.State(-1))
		for s := range connectivity.ServingMode(4) {
			p.Printf("%d %v", int(s), s)
		}
	}},
	{Name: "ConnectivityStateEvaluator", Run: func(p *probe.P) {
		var e balancer.ConnectivityStateEvaluator
		p.Printf("%v", e.CurrentState())
		for _, t := range [][2]connectivity.State{
			{connectivity.Shutdown, connectivity.Idle},
			{connectivity.Idle, connectivity.Connecting},
			{connectivity.Connecting, connectivity.TransientFailure},
			{connectivity.Shutdown, connectivity.Idle},
			{connectivity.Idle, connectivity.Ready},
			{connectivity.Ready, connectivity.Shutdown},
			{connectivity.TransientFailure, connectivity.Shutdown},
		} {
			p.Printf("%v to %v: %v", t[0], t[1], e.RecordTransition(t[0], t[1]))
		}
	}},
	{Name: "balancer errors", Run: func(p *probe.P) {
		p.Printf("%v|%v|%v", balancer.ErrNoSubConnAvailable, balancer.ErrTransientFailure, balancer.ErrBadResolverState)
		p.Printf("%v", balancer.TransientFailureError(errors.New("e")))
		for _, n := range []string{"pick_first", "PICK_FIRST", "round_robin", "nope", "weighted_round_robin", "least_request_experimental", "grpclb"} {
			p.Printf("%s %v", n, balancer.Get(n) != nil)
		}
	}},
	{Name: "backoff", Run: func(p *probe.P) {
		p.Printf("%+v %+v", backoff.DefaultConfig, grpc.DefaultBackoffConfig)
	}},
	{Name: "peer", Run: func(p *probe.P) {
		p.Printf("%v", &peer.Peer{})
		p.Printf("%v", &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, AuthInfo: credentials.TLSInfo{}})
		p.Printf("%v", &peer.Peer{LocalAddr: &net.UnixAddr{Name: "x"}, AuthInfo: authInfo{}})
		p.Printf("%v", (*peer.Peer)(nil))
	}},
	{Name: "SecurityLevel", Run: func(p *probe.P) {
		for l := range credentials.SecurityLevel(5) {
			p.Printf("%v", l)
			p.Printf("%v", credentials.CheckSecurityLevel(credentials.TLSInfo{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: l}}, credentials.PrivacyAndIntegrity))
		}
		p.Printf("%v", credentials.CheckSecurityLevel(nil, credentials.NoSecurity))
		p.Printf("%v", credentials.CheckSecurityLevel(authInfo{}, credentials.PrivacyAndIntegrity))
	}},
	{Name: "encoding registry", Alone: true, Run: func(p *probe.P) {
		p.Printf("%v %v %v", encoding.GetCodec("proto") != nil, encoding.GetCodecV2("proto") != nil, encoding.GetCodecV2("PROTO") != nil)
		p.Printf("%v %v", encoding.GetCompressor("gzip") != nil, encoding.GetCompressor("GZIP") != nil)
		p.Printf("%v %v", encoding.GetCompressor("identity") != nil, encoding.GetCompressor("") != nil)
		rig.Try(p, "nil codec", func() error { encoding.RegisterCodec(nil); return nil })
		rig.Try(p, "nil codec v2", func() error { encoding.RegisterCodecV2(nil); return nil })
		rig.Try(p, "nameless codec", func() error { encoding.RegisterCodec(namelessCodec{}); return nil })
		rig.Try(p, "nil compressor", func() error { encoding.RegisterCompressor(nil); return nil })
		encoding.RegisterCodec(oldCodec{})
		p.Printf("%v %v", encoding.GetCodec("old") != nil, encoding.GetCodecV2("old") != nil)
	}},
	{Name: "proto codec", Run: func(p *probe.P) {
		c := encoding.GetCodecV2(proto.Name)
		_, err := c.Marshal("x")
		p.Printf("%v", err)
		p.Printf("%v", c.Unmarshal(nil, "x"))
		p.Printf("%v", c.Unmarshal(mem.BufferSlice{mem.SliceBuffer{255}}, new(rig.Msg)))
		_, err = c.Marshal((*rig.Msg)(nil))
		p.Printf("%v", err)
		_, err = c.Marshal(nil)
		p.Printf("%v", err)
		b, err := c.Marshal(rig.M("\xff"))
		p.Printf("%v %v", b.Len(), err)
		v1 := encoding.GetCodec(proto.Name)
		p.Printf("v1: %v", v1 != nil)
	}},
	{Name: "gzip", Run: func(p *probe.P) {
		p.Printf("%v %v %v", gzip.SetLevel(10), gzip.SetLevel(-3), gzip.SetLevel(-1))
		_, err := grpc.NewGZIPCompressorWithLevel(10)
		p.Printf("%v", err)
		p.Printf("%s %s", grpc.NewGZIPCompressor().Type(), grpc.NewGZIPDecompressor().Type())
		_, err = grpc.NewGZIPDecompressor().Do(bytes.NewReader([]byte("x")))
		p.Printf("%v", err)
	}},
	{Name: "mem.Buffer", Run: func(p *probe.P) {
		data := make([]byte, 2000)
		b := mem.NewBuffer(&data, mem.DefaultBufferPool())
		p.Printf("%T %d", b, b.Len())
		s := b.Slice(10, 20)
		p.Printf("%T %d", s, s.Len())
		s.Free()
		rig.Try(p, "Slice", func() error { b.Slice(5, 3); return nil })
		b.Free()
		rig.Try(p, "Free", func() error { b.Free(); return nil })
	}},
	{Name: "mem small", Run: func(p *probe.P) {
		small := []byte("small")
		b := mem.NewBuffer(&small, mem.DefaultBufferPool())
		p.Printf("%T %s", b, b.ReadOnlyData())
		left, right := mem.SplitUnsafe(b, 2)
		p.Printf("%s %s", left.ReadOnlyData(), right.ReadOnlyData())
		buf := make([]byte, 2)
		n, rest := mem.ReadUnsafe(buf, right)
		p.Printf("%d %s %s", n, buf, rest.ReadOnlyData())
		p.Printf("%v %v %v", mem.IsBelowBufferPoolingThreshold(1024), mem.IsBelowBufferPoolingThreshold(1025), mem.IsBelowBufferPoolingThreshold(0))
	}},
	{Name: "mem.BufferSlice", Run: func(p *probe.P) {
		s := mem.BufferSlice{mem.SliceBuffer("ab"), mem.SliceBuffer(""), mem.SliceBuffer("cde")}
		p.Printf("%d %s", s.Len(), s.Materialize())
		dst := make([]byte, 4)
		p.Printf("%d %s", s.CopyTo(dst), dst)
		r := s.Reader()
		c, err := r.ReadByte()
		p.Printf("%c %v %d", c, err, r.Remaining())
		n, err := r.Discard(2)
		p.Printf("%d %v %d", n, err, r.Remaining())
		n, err = r.Discard(9)
		p.Printf("%d %v", n, err)
		_, err = r.ReadByte()
		p.Printf("%v", err)
		r.Reset(s)
		parts, err := r.Peek(4, nil)
		p.Printf("%q %v", parts, err)
		_, err = r.Peek(40, nil)
		p.Printf("%v", err)
		all, err := io.ReadAll(r)
		p.Printf("%s %v %v", all, err, r.Close())
	}},
	{Name: "mem.ReadAll", Run: func(p *probe.P) {
		s, err := mem.ReadAll(bytes.NewReader(make([]byte, 100000)), mem.NopBufferPool{})
		p.Printf("%d %v %d", s.Len(), err, len(s))
		s, err = mem.ReadAll(io.MultiReader(bytes.NewReader([]byte("abc")), errReader{}), mem.DefaultBufferPool())
		p.Printf("%s %v", s.Materialize(), err)
		var out mem.BufferSlice
		w := mem.NewWriter(&out, mem.DefaultBufferPool())
		n, err := w.Write([]byte("abc"))
		p.Printf("%d %v %s", n, err, out.Materialize())
	}},
	{Name: "mem pools", Run: func(p *probe.P) {
		pool := mem.NewTieredBufferPool(10, 100)
		for _, n := range []int{0, 1, 10, 11, 100, 101} {
			b := pool.Get(n)
			p.Printf("%d: %d %d", n, len(*b), cap(*b))
			for i := range *b {
				(*b)[i] = 7
			}
			pool.Put(b)
			b = pool.Get(n)
			p.Printf("zero: %v", bytes.IndexByte(*b, 7) < 0)
		}
		d := mem.DefaultBufferPool()
		for _, n := range []int{1, 256, 257, 4096, 4097, 16384, 32768, 32769, 1 << 20, 1<<20 + 1} {
			p.Printf("%d: %d", n, len(*d.Get(n)))
		}
		_, err := mem.NewBinaryTieredBufferPool(70)
		p.Printf("%v", err)
		bin, err := mem.NewBinaryTieredBufferPool(4, 8)
		p.Printf("%v", err)
		p.Printf("%d %d", cap(*bin.Get(3)), cap(*bin.Get(17)))
	}},
	{Name: "credentials/insecure", Run: func(p *probe.P) {
		c := insecure.NewCredentials()
		p.Printf("%+v %v", c.Info(), c.OverrideServerName("x"))
		p.Printf("%T %T", c, c.Clone())
		b := insecure.NewBundle()
		p.Printf("%v %v", b.PerRPCCredentials(), b.TransportCredentials().Info())
		_, err := b.NewWithMode("x")
		p.Printf("%v", err)
	}},
	{Name: "credentials/tls", Run: func(p *probe.P) {
		c := credentials.NewTLS(nil)
		p.Printf("%+v", c.Info())
		p.Printf("%v %+v", c.OverrideServerName("x"), c.Info())
		p.Printf("%v", credentials.TLSInfo{}.AuthType())
		_, err := credentials.NewClientTLSFromFile("/no/such", "")
		p.Printf("%v", err)
		_, err = credentials.NewServerTLSFromFile("/no/such", "/no/such")
		p.Printf("%v", err)
	}},
	{Name: "versions", Run: func(p *probe.P) {
		p.Printf("%v %v", grpc.SupportPackageIsVersion9, grpc.SupportPackageIsVersion3)
		p.Printf("%v|%v|%v", grpc.ErrClientConnClosing, grpc.ErrServerStopped, grpc.ErrClientConnTimeout)
	}},
}

type upperResolver struct{ sayResolver }

func (upperResolver) Scheme() string { return "UPPER" }

type authInfo struct{}

func (authInfo) AuthType() string { return "mine" }

type namelessCodec struct{ oldCodec }

func (namelessCodec) Name() string { return "" }

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }
