// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/rls" // named in service configs
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// outsiderProbes ask whom a channel asks: proxies, route lookups.
func outsiderProbes() []probe.Probe {
	return append(append(proxyRefusals(), proxyChoices()...), lookupProbes()...)
}

// httpProxy is a proxy that answers with what it is told, or, without that, connects to the
// server. It prints what it is asked.
func httpProxy(p *probe.P, reply, server string) (addr string) {
	l := rig.Listen()
	p.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			go tunnel(p, down, reply, server)
		}
	}()
	return l.Addr().String()
}

func tunnel(p *probe.P, down net.Conn, reply, server string) {
	defer down.Close()
	in := bufio.NewReader(down)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	host := r.Host
	if _, port, _ := net.SplitHostPort(server); port != "" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	if reply != "" {
		_, _ = io.WriteString(down, reply)
		return
	}
	p.Printf("%s %s agent=%v authorization=%q", r.Method, host, r.UserAgent() != "", r.Header.Get("Proxy-Authorization"))
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(down, up) }()
	_, _ = io.Copy(up, in)
}

func proxyRefusals() []probe.Probe {
	var out []probe.Probe
	for name, reply := range map[string]string{
		"403":                "HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\nnot for you!",
		"407":                "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\nwho are you",
		"502 without a body": "HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n",
		"500 in chunks":      "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"nonsense":           "nonsense\r\n\r\n",
		"half a head":        "HTTP/1.1 200 OK\r\n",
	} {
		out = append(out, probe.Probe{Name: "proxy refuses/" + name, Alone: true, Run: func(p *probe.P) {
			addr := httpProxy(p, reply, "")
			_ = os.Setenv("HTTPS_PROXY", "http://"+addr)
			cc := channelTo(p, "shop.example:443")
			p.Printf("%s", strings.ReplaceAll(call(p.Context(), cc), addr, "PROXY"))
			p.Printf("waits: %v", strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "DeadlineExceeded"))
		}})
	}
	return out
}

// proxyChoices print for which addresses a proxy is asked, and what.
func proxyChoices() []probe.Probe {
	var out []probe.Probe
	add := func(name, user, exempt string, open func(p *probe.P, server string) *grpc.ClientConn) {
		out = append(out, probe.Probe{Name: "proxy/" + name, Alone: true, Run: func(p *probe.P) {
			s := server(p)
			_ = os.Setenv("HTTPS_PROXY", "http://"+user+httpProxy(p, "", s))
			_ = os.Setenv("NO_PROXY", exempt)
			p.Printf("%s", briefly(p, open(p, s)))
		}})
	}
	// A system takes 0.0.0.0 for itself, and it is not loopback, which no proxy is asked for.
	here := func(server string) string { return "0.0.0.0:" + portOf(server) }
	resolved := func(more ...string) func(*probe.P, string) *grpc.ClientConn {
		return func(p *probe.P, server string) *grpc.ClientConn {
			cc, r := manualChannel(p)
			r.InitialState(addresses(append(more, here(server))...))
			return cc
		}
	}
	loopback := func(p *probe.P, server string) *grpc.ClientConn {
		cc, r := manualChannel(p)
		r.InitialState(addresses(server))
		return cc
	}
	address := func(opts ...grpc.DialOption) func(*probe.P, string) *grpc.ClientConn {
		return func(p *probe.P, server string) *grpc.ClientConn {
			return channelTo(p, "passthrough:///"+here(server), opts...)
		}
	}
	target := func(name string) func(*probe.P, string) *grpc.ClientConn {
		return func(p *probe.P, _ string) *grpc.ClientConn { return channelTo(p, name) }
	}
	add("a name", "", "", target("shop.example:443"))
	add("a name without a port", "", "", target("shop.example"))
	add("a port", "", "", func(p *probe.P, server string) *grpc.ClientConn { return channelTo(p, ":"+portOf(server)) })
	add("a port, dns", "", "", func(p *probe.P, server string) *grpc.ClientConn { return channelTo(p, "dns:///:"+portOf(server)) })
	add("an IPv6 address", "", "", target("2001:db8::5"))
	add("an IPv6 address that is exempt", "", "2001:db8::/32", target("2001:db8::5"))
	add("an IPv6 address with a zone", "", "", target("dns:///[fe80::1%25lo]:443"))
	add("a name that is not ASCII", "", "", target("b\u00fccher.example:443"))
	add("a name with line breaks", "", "", target("dns:///a%0d%0aX-More:%20y:443"))
	add("a name with a space", "", "", target("dns:///a%20b:443"))
	add("an agent with line breaks", "", "", func(p *probe.P, _ string) *grpc.ClientConn {
		return channelTo(p, "shop.example:443", grpc.WithUserAgent("a\r\nX-More: y"))
	})
	add("a name, dns", "", "", target("dns:///shop.example:443"))
	add("a name, passthrough", "", "", target("passthrough:///shop.example:443"))
	add("a user", "user:pass%20word@", "", target("shop.example:443"))
	add("a user without a password", "user@", "", target("shop.example:443"))
	add("an address", "", "", address())
	add("an address that is exempt", "", "0.0.0.0", address())
	add("a network that is exempt", "", "10.0.0.0/8,0.0.0.0/8", address())
	add("all are exempt", "", "*", address())
	add("another is exempt", "", "10.0.0.0/8", address())
	add("a resolver's, loopback", "", "", loopback)
	add("a resolver's", "", "", resolved())
	add("a resolver's, exempt", "", "0.0.0.0/8", resolved())
	add("a resolver's, another exempt", "", "127.0.0.0/8", resolved("127.0.0.1:1"))
	add("a resolver's, its target exempt", "", "x", resolved())
	add("no proxy", "", "", address(grpc.WithNoProxy()))
	add("a dialer", "", "", address(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	})))
	return out
}

// lookupProbes have a route lookup service that is not there.
func lookupProbes() []probe.Probe {
	print := func(p *probe.P, cc *grpc.ClientConn) {
		p.Printf("fails: %v", !strings.Contains(briefly(p, cc), "DeadlineExceeded"))
		p.Printf("waits: %v", strings.Contains(briefly(p, cc, grpc.WaitForReady(true)), "DeadlineExceeded"))
	}
	return []probe.Probe{{Name: "rls/nobody is there", Run: func(p *probe.P) {
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"rls_experimental":{"routeLookupConfig":{
			"grpcKeybuilders":[{"names":[{"service":"s"}]}],"lookupService":"127.0.0.1:1","lookupServiceTimeout":"5s","cacheSizeBytes":1000},
			"childPolicy":[{"pick_first":{}}],"childPolicyConfigTargetFieldName":"x"}}]}`))
		r.InitialState(addresses("127.0.0.1:1"))
		p.Printf("%s", call(p.Context(), cc))
		print(p, cc)
	}}, {Name: "rls/connects at once", Run: func(p *probe.P) {
		l := rig.Listen()
		defer l.Close()
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"rls_experimental":{"routeLookupConfig":{
			"grpcKeybuilders":[{"names":[{"service":"s"}]}],"lookupService":"`+l.Addr().String()+`","cacheSizeBytes":1000},
			"childPolicy":[{"pick_first":{}}],"childPolicyConfigTargetFieldName":"x"}}]}`))
		r.InitialState(addresses("127.0.0.1:1"))
		cc.Connect()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(5 * time.Second))
		nc, err := l.Accept()
		if err == nil {
			_ = nc.Close()
		}
		p.Printf("connected: %v", err == nil)
	}}}
}
