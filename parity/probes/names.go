// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"google.golang.org/grpc"
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
	txt   []string // of the service config
	asked map[string]bool
}

func newNames(p *probe.P) *names {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	n := &names{addr: conn.LocalAddr().String(), a: [][4]byte{{127, 0, 0, 1}}, asked: make(map[string]bool)}
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.answer(buf[:size]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return n
}

func (n *names) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *names) answer(query []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	n.asked[q.Name.String()+" "+q.Type.String()] = true
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: n.code},
		Questions: m.Questions,
	}
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
	switch {
	case n.code != dnsmessage.RCodeSuccess:
	case q.Type == dnsmessage.TypeA:
		for _, a := range n.a {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a}})
		}
	case q.Type == dnsmessage.TypeTXT && n.txt != nil:
		reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.TXTResource{TXT: n.txt}}}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// channel is one to a port of svc.test.
func (n *names) channel(p *probe.P, port string, opts ...grpc.DialOption) *grpc.ClientConn {
	return channelTo(p, "dns://"+n.addr+"/svc.test.:"+port, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), quick)...)
}

// briefly is a call that gives up soon.
func briefly(p *probe.P, cc *grpc.ClientConn, opts ...grpc.CallOption) string {
	ctx, cancel := context.WithTimeout(p.Context(), 300*time.Millisecond)
	defer cancel()
	return call(ctx, cc, opts...)
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// nameProbes ask a DNS server of their own.
func nameProbes() []probe.Probe {
	var out []probe.Probe
	add := func(name string, set func(*names)) {
		out = append(out, probe.Probe{Name: "names/" + name, Alone: true, Run: func(p *probe.P) {
			n := newNames(p)
			set(n)
			cc := n.channel(p, portOf(server(p)))
			p.Printf("%s", strings.ReplaceAll(call(p.Context(), cc), n.addr, "DNS"))
			p.Printf("waits: %v", strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "DeadlineExceeded"))
			p.Printf("%v", cc.GetState())
			n.set(func() { p.Printf("%v", slices.Sorted(maps.Keys(n.asked))) })
		}})
	}
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
	return append(out, nameGone(), namePace())
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
		for begun := time.Now(); serves && time.Since(begun) < time.Second; {
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
