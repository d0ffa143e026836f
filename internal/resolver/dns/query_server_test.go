// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"net"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"google.golang.org/grpc/resolver"
)

// serveDNS answers on a loopback socket: 10.0.0.9 and a service config for every name.
func serveDNS(t *testing.T) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback socket:", err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answer(buf[:n]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// answer returns the reply to a query, nil when it is none.
func answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: m.Questions,
	}
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
	switch q.Type {
	case dnsmessage.TypeA:
		reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 9}}}}
	case dnsmessage.TypeTXT:
		// One record may be several strings, of 255 bytes at most each.
		reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.TXTResource{
			TXT: []string{`grpc_config=[{"service`, `Config":{"from":"dns"}}]`},
		}}}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func TestAuthorityIsAsked(t *testing.T) {
	authority := serveDNS(t)
	told := make(chan struct{})
	cc := &channel{onState: func() { close(told) }}
	b := NewBuilder()
	target := resolver.Target{URL: url.URL{Scheme: "dns", Host: authority, Path: "/name.test.:80"}}
	r, err := b.Build(target, cc, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-told
	states, _ := cc.told()
	if got := addrs(states[0]); !slices.Equal(got, []string{"10.0.0.9:80"}) {
		t.Errorf("addresses %q", got)
	}
	if c := states[0].ServiceConfig; c == nil || c.Err != nil || c.Config.(parsed).json != `{"from":"dns"}` {
		t.Errorf("service config %+v", c)
	}
}
