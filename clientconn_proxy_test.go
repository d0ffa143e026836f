// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
)

// tunnelProxy is an HTTP proxy that knows CONNECT, and connects to one server whatever it
// is asked for.
type tunnelProxy struct {
	lis    net.Listener
	server string

	mu    sync.Mutex
	asked []string
}

func newTunnelProxy(t *testing.T, server string) *tunnelProxy {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tunnelProxy{lis: lis, server: server}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := lis.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(nc) })
		}
	})
	t.Cleanup(func() {
		lis.Close()
		wg.Wait()
	})
	return p
}

func (p *tunnelProxy) serve(down net.Conn) {
	defer down.Close()
	in := bufio.NewReader(down)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.mu.Unlock()
	up, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer up.Close()
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(down, up)
		down.Close()
	}()
	_, _ = io.Copy(up, in)
	up.Close()
	<-done
}

// requests returns what the proxy was asked.
func (p *tunnelProxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// environment has a proxy stand before everything but what exempt says.
func (p *tunnelProxy) environment(exempt func(host string) bool) DialOption {
	u := &url.URL{Scheme: "http", Host: p.lis.Addr().String()}
	return dialOption(func(o *dialOptions) {
		o.proxyFor = func(target *url.URL) (*url.URL, error) {
			if exempt(target.Host) {
				return nil, nil
			}
			return u, nil
		}
	})
}

// A resolver finds addresses: NO_PROXY holds for each of them (gRFC A1, use case 2).
func TestA1NoProxyByAddress(t *testing.T) {
	s := serve(t, newEcho())
	p := newTunnelProxy(t, s.addr)
	const far = "10.255.255.9:77"
	_, port, _ := net.SplitHostPort(s.addr)
	local, farOne := manualTarget(s.addr), manualTarget(far)
	for _, tt := range []struct {
		name   string
		target string
		exempt string // the host before which no proxy stands
		opts   []DialOption
		want   int // requests to the proxy
	}{
		{"address exempt", "test:///name", s.addr, []DialOption{WithResolvers(local)}, 0},
		{"address not exempt", "test:///name", s.addr, []DialOption{WithResolvers(farOne)}, 1},
		{"target exempt", "test:///name", "name", []DialOption{WithResolvers(local)}, 0},
		{"resolved here", "localhost:" + port, s.addr, []DialOption{WithLocalDNSResolution()}, 0},
		{"resolved by the proxy", "localhost:" + port, s.addr, nil, 1},
	} {
		before := len(p.requests())
		exempt := p.environment(func(host string) bool { return host == tt.exempt || host == "[::1]:"+port })
		cc := newTestClient(t, tt.target, append(tt.opts, exempt)...)
		if err := call(testContext(t), cc, "hello"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		cc.Close()
		if n := len(p.requests()) - before; n != tt.want {
			t.Errorf("%s: the proxy was asked %d times, want %d", tt.name, n, tt.want)
		}
	}
}

func TestProxy(t *testing.T) {
	s := serve(t, newEcho())
	p := newTunnelProxy(t, s.addr)
	env := p.environment(func(string) bool { return false })
	manual := manualTarget(s.addr)
	for _, tt := range []struct {
		target string
		opts   []DialOption
		want   string // what the proxy is asked, "" for nothing
	}{
		{"only-the-proxy-knows.example:80", nil, "CONNECT only-the-proxy-knows.example:80"},
		{"only-the-proxy-knows.example", nil, "CONNECT only-the-proxy-knows.example:443"},
		{s.addr, []DialOption{WithLocalDNSResolution()}, "CONNECT " + s.addr},
		{"test:///name", []DialOption{WithResolvers(manual)}, "CONNECT " + s.addr},
		{s.addr, []DialOption{WithNoProxy()}, ""},
	} {
		p.asked = nil
		cc := newTestClient(t, tt.target, append(tt.opts, env)...)
		if err := call(testContext(t), cc, "hello"); err != nil {
			t.Errorf("%s: %v", tt.target, err)
		}
		cc.Close()
		got := ""
		if asked := p.requests(); len(asked) > 0 {
			got = asked[0]
		}
		if got != tt.want {
			t.Errorf("%s: the proxy was asked %q, want %q", tt.target, got, tt.want)
		}
	}
}
