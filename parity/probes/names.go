// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver/dns"
)

// names is a DNS server for the name svc.test.
type names struct {
	addr string

	mu    sync.Mutex
	code  dnsmessage.RCode // of all answers
	a     [][4]byte
	aaaa  [][16]byte
	srv   []dnsmessage.SRVResource // of grpclb's balancers
	txt   []string                 // of the service config
	more  [][]string               // more texts
	only  dnsmessage.Type          // the code is of answers of this type, if it is not 0
	mute  dnsmessage.Type          // nothing is answered about this type
	short dnsmessage.Type          // answers of this type over UDP are cut off
	asked map[string]bool
}

func newNames(p *probe.P) *names {
	conn, l := samePort()
	p.Cleanup(func() { _, _ = conn.Close(), l.Close() })
	n := &names{addr: conn.LocalAddr().String(), a: [][4]byte{{127, 0, 0, 1}}, asked: make(map[string]bool)}
	go n.serveTCP(l)
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.answer(buf[:size], true); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return n
}

// samePort listens over UDP and TCP on a port that nobody else has of either.
func samePort() (net.PacketConn, net.Listener) {
	for {
		l := rig.Listen()
		if conn, err := net.ListenPacket("udp", l.Addr().String()); err == nil {
			return conn, l
		}
		_ = l.Close()
	}
}

// serveTCP answers those who were told to ask again.
func (n *names) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for {
				size := make([]byte, 2)
				if _, err := io.ReadFull(c, size); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(c, query); err != nil {
					return
				}
				reply := n.answer(query, false)
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}
		}()
	}
}

func (n *names) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *names) answer(query []byte, datagram bool) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	n.asked[q.Name.String()+" "+q.Type.String()] = true
	if n.mute != 0 && n.mute == q.Type {
		return nil
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: m.Questions,
	}
	if n.only == 0 || n.only == q.Type {
		reply.RCode = n.code
	}
	if datagram && n.short != 0 && n.short == q.Type {
		reply.Truncated = true
	} else if reply.RCode == dnsmessage.RCodeSuccess {
		for _, body := range n.bodies(q) {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}, Body: body})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// bodies are what there is of a name and a type.
func (n *names) bodies(q dnsmessage.Question) (out []dnsmessage.ResourceBody) {
	switch q.Type {
	case dnsmessage.TypeA:
		for _, a := range n.a {
			out = append(out, &dnsmessage.AResource{A: a})
		}
	case dnsmessage.TypeAAAA:
		for _, a := range n.aaaa {
			out = append(out, &dnsmessage.AAAAResource{AAAA: a})
		}
	case dnsmessage.TypeSRV:
		for i := range n.srv {
			out = append(out, &n.srv[i])
		}
	case dnsmessage.TypeTXT:
		if n.txt != nil {
			out = append(out, &dnsmessage.TXTResource{TXT: n.txt})
		}
		for _, t := range n.more {
			out = append(out, &dnsmessage.TXTResource{TXT: t})
		}
	}
	return out
}

// channel is one to a port of svc.test.
func (n *names) channel(p *probe.P, port string, opts ...grpc.DialOption) *grpc.ClientConn {
	return channelTo(p, "dns://"+n.addr+"/svc.test.:"+port, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), quick)...)
}

// briefly is a call that gives up soon.
func briefly(p *probe.P, cc *grpc.ClientConn, opts ...grpc.CallOption) string {
	ctx, cancel := probe.WithTimeout(p.Context(), 300*time.Millisecond)
	defer cancel()
	return call(ctx, cc, opts...)
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// nameProbe resolves the name with what set has the server answer.
func nameProbe(name string, set func(*names)) probe.Probe {
	return probe.Probe{Name: "names/" + name, Alone: true, Run: func(p *probe.P) {
		n := newNames(p)
		set(n)
		cc := n.channel(p, portOf(server(p)))
		p.Printf("%s", strings.ReplaceAll(call(p.Context(), cc), n.addr, "DNS"))
		waits := strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "DeadlineExceeded")
		p.Printf("waits: %v", waits)
		if !waits { // the state may come a moment after the picker, with which RPCs go on
			cc.WaitForStateChange(p.Context(), connectivity.Connecting)
		}
		p.Printf("%v", cc.GetState())
		n.set(func() { p.Printf("%v", slices.Sorted(maps.Keys(n.asked))) })
	}}
}

// nameProbes ask a DNS server of their own.
func nameProbes() []probe.Probe {
	var out []probe.Probe
	add := func(name string, set func(*names)) { out = append(out, nameProbe(name, set)) }
	config := func(text ...string) func(*names) { return func(n *names) { n.txt = text } }
	add("found", func(*names) {})
	add("twice", func(n *names) { n.a = append(n.a, n.a[0]) })
	add("one of them is not there", func(n *names) { n.a = append([][4]byte{{127, 0, 0, 77}}, n.a...) })
	add("no addresses", func(n *names) { n.a = nil })
	add("unknown", func(n *names) { n.code = dnsmessage.RCodeNameError })
	add("refused", func(n *names) { n.code = dnsmessage.RCodeRefused })
	add("config", config(`grpc_config=[{"serviceConfig":{"loadBalancingConfig":[{"round_robin":{}}]}}]`))
	add("config in pieces", config(`grpc_config=[{"serviceConfig":{"loadBala`, `ncingConfig":[{"round_robin":{}}]}}]`))
	add("config of others", config(`grpc_config=[{"clientLanguage":["c++"],"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}}]`))
	add("config of Go", config(`grpc_config=[{"clientLanguage":["c++","GO"],"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}}]`))
	add("config for nobody", config(`grpc_config=[{"percentage":0,"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}}]`))
	add("config for all", config(`grpc_config=[{"percentage":100,"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}}]`))
	add("text that is no config", config(`something=[else]`))
	return append(append(out, nameGone(), namePace()), nameTimeouts()...)
}

// nameGone has the name go while its only server is connected and serves.
func nameGone() probe.Probe {
	return probe.Probe{Name: "names/gone", Alone: true, Run: func(p *probe.P) {
		dns.SetMinResolutionInterval(50 * time.Millisecond)
		n := newNames(p)
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 300 * time.Millisecond})}}.Serve(p)
		cc := n.channel(p, portOf(s.Listener.Addr().String()))
		p.Printf("%s", call(p.Context(), cc))
		n.set(func() { n.code, n.asked = dnsmessage.RCodeNameError, make(map[string]bool) })
		// The end of the connection, and an RPC, ask for the name.
		for asked := false; !asked && p.Context().Err() == nil; {
			_ = briefly(p, cc)
			n.set(func() { asked = n.asked["svc.test. TypeA"] })
		}
		serves := true
		for begun := time.Now(); serves && time.Since(begun) < 2*time.Second; {
			serves = strings.HasSuffix(briefly(p, cc), " nil")
		}
		p.Printf("serves: %v", serves)
	}}
}

// namePace counts how often a server is asked for a name whose address refuses connections.
func namePace() probe.Probe {
	return probe.Probe{Name: "names/pace", Alone: true, Run: func(p *probe.P) {
		n := newNames(p)
		cc := n.channel(p, "1")
		p.Printf("%v", strings.Contains(briefly(p, cc), "refused"))
		n.set(func() { n.asked = make(map[string]bool) })
		p.Printf("%v", strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "refused"))
		n.set(func() { p.Printf("asked again: %s", fmt.Sprint(len(n.asked))) })
	}}
}

// nameTimeouts have the server answer nothing about some types, for as long as a resolver waits.
func nameTimeouts() []probe.Probe {
	var out []probe.Probe
	for _, timeout := range []time.Duration{700 * time.Millisecond, 2 * time.Second} {
		for name, mute := range map[string]dnsmessage.Type{"addresses": dnsmessage.TypeA, "IPv6 addresses": dnsmessage.TypeAAAA, "configs": dnsmessage.TypeTXT} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("names/timeout of %v/%s", timeout, name), Alone: true, Limit: 16 * time.Second, Run: func(p *probe.P) {
				dns.SetResolvingTimeout(timeout)
				dns.SetMinResolutionInterval(50 * time.Millisecond)
				n := newNames(p)
				n.mute = mute
				cc := n.channel(p, portOf(server(p)))
				p.Printf("%s", strings.ReplaceAll(call(p.Context(), cc), n.addr, "DNS"))
				p.Printf("waits: %v", strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "DeadlineExceeded"))
				p.Printf("%v", cc.GetState())
				n.set(func() { n.mute = 0 })
				cc.ResetConnectBackoff()
				p.Printf("it answers: %s", call(p.Context(), cc, grpc.WaitForReady(true)))
			}})
		}
	}
	return out
}
