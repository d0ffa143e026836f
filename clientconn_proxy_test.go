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

func TestProxy(t *testing.T) {
	s := serve(t, newEcho())
	p := newTunnelProxy(t, s.addr)
	u := &url.URL{Scheme: "http", Host: p.lis.Addr().String()}
	var about []string
	env := dialOption(func(o *dialOptions) {
		o.proxyFor = func(target *url.URL) (*url.URL, error) {
			about = append(about, target.Host)
			return u, nil
		}
	})
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
		p.asked, about = nil, nil
		cc := newTestClient(t, tt.target, append(tt.opts, env)...)
		if err := call(testContext(t), cc, "hello"); err != nil {
			t.Errorf("%s: %v", tt.target, err)
		}
		cc.Close()
		got := ""
		p.mu.Lock()
		if len(p.asked) > 0 {
			got = p.asked[0]
		}
		p.mu.Unlock()
		if got != tt.want {
			t.Errorf("%s: the proxy was asked %q, want %q", tt.target, got, tt.want)
		}
	}
}
