// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// fakeProxy answers one CONNECT with what it is told, in pieces cut at the given place,
// and then echoes.
type fakeProxy struct {
	lis     net.Listener
	reply   string
	cut     int
	request chan *http.Request
}

func newFakeProxy(t *testing.T, reply string, cut int) *fakeProxy {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeProxy{lis: lis, reply: reply, cut: cut, request: make(chan *http.Request, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve()
	}()
	t.Cleanup(func() {
		lis.Close()
		<-done
	})
	return p
}

func (p *fakeProxy) serve() {
	nc, err := p.lis.Accept()
	if err != nil {
		return
	}
	defer nc.Close()
	r, err := http.ReadRequest(bufio.NewReader(nc))
	if err != nil {
		return
	}
	p.request <- r
	cut := min(p.cut, len(p.reply))
	_, _ = io.WriteString(nc, p.reply[:cut])
	_, _ = io.WriteString(nc, p.reply[cut:])
	_, _ = io.Copy(io.Discard, nc)
}

func (p *fakeProxy) dial(ctx context.Context, user *url.Userinfo) (net.Conn, error) {
	u := &url.URL{Scheme: "http", Host: p.lis.Addr().String(), User: user}
	return ProxyDialer(u, "test-agent")(ctx, "server.example:443")
}

// TestProxyLeftover has the server's first bytes come with the proxy's answer, cut in two
// at every place.
func TestProxyLeftover(t *testing.T) {
	const head, first = "HTTP/1.1 200 Connection established\r\nX-A: b\r\n\r\n", "first bytes of the server"
	for cut := 0; cut <= len(head)+len(first); cut += 3 {
		p := newFakeProxy(t, head+first, cut)
		nc, err := p.dial(context.Background(), nil)
		if err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		got := make([]byte, len(first))
		if _, err := io.ReadFull(nc, got); err != nil || string(got) != first {
			t.Errorf("cut %d: %q, %v", cut, got, err)
		}
		if _, ok := nc.(*net.TCPConn); !ok {
			t.Errorf("cut %d: the connection is a %T", cut, nc)
		}
		nc.Close()
	}
}

func TestProxyRequest(t *testing.T) {
	p := newFakeProxy(t, "HTTP/1.1 200 OK\r\n\r\n", 0)
	nc, err := p.dial(context.Background(), url.UserPassword("user", "pass:word"))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	r := <-p.request
	if r.Method != http.MethodConnect || r.Host != "server.example:443" || r.UserAgent() != "test-agent" {
		t.Errorf("%s %s by %q", r.Method, r.Host, r.UserAgent())
	}
	if got := r.Header.Get("Proxy-Authorization"); got != "Basic dXNlcjpwYXNzOndvcmQ=" {
		t.Errorf("Proxy-Authorization: %q", got)
	}
}

// TestTunnelRequest: neither an address nor an agent adds anything to the request.
func TestTunnelRequest(t *testing.T) {
	for addr, want := range map[string]string{
		"host:1":                        "host:1",
		"[::1]:2":                       "[::1]:2",
		"[fe80::1%eth0]:3":              "[fe80::1]:3",
		"b\u00fccher.example:4":         "xn--bcher-kva.example:4",
		"a\r\nX-More: y\r\n\r\nGET /:5": "",
		"a b:6":                         "",
		"a\x7f:7":                       "",
		"b\u00fccher":                   "xn--bcher-kva",
		"a_b.b\u00fccher.example:8":     "a_b.xn--bcher-kva.example:8",
		"[fe80::1%\u00fc x]:9":          "[fe80::1]:9",
	} {
		b, err := tunnelRequest(&url.URL{Host: "proxy"}, addr, "agent\r\nX-More: y")
		if want == "" {
			if err == nil {
				t.Errorf("%q: %q", addr, b)
			}
			continue
		}
		if text := "CONNECT " + want + " HTTP/1.1\r\nHost: " + want + "\r\nUser-Agent: agent  X-More: y\r\n\r\n"; err != nil || string(b) != text {
			t.Errorf("%q: %q, %v, want %q", addr, b, err, text)
		}
	}
}

// TestProxyHeadEnds: the head ends where its first empty line does, whatever arrives with it, and in
// whatever pieces.
func TestProxyHeadEnds(t *testing.T) {
	for _, tt := range []struct{ answer, head string }{
		{"A\r\nB: c\r\n\r\nrest", "A\r\nB: c\r\n\r\n"},
		{"A\nB: c\n\nrest\r\n\r\n", "A\nB: c\n\n"},
		{"A\r\nB\n\r\nrest", "A\r\nB\n\r\n"},
		{"\n\n\n", "\n\n"},
		{"\r\n\r\n\r\n\r\n", "\r\n\r\n"},
		{"no end", "no end"},
	} {
		for piece := 1; piece <= len(tt.answer); piece++ {
			var head []byte
			for rest := tt.answer; !isHead(head) && rest != ""; {
				n := headLeft(head, []byte(rest[:min(piece, len(rest))]))
				if n < 1 || n > piece {
					t.Fatalf("%q in pieces of %d: %d bytes", tt.answer, piece, n)
				}
				head, rest = append(head, rest[:n]...), rest[n:]
			}
			if string(head) != tt.head {
				t.Errorf("%q in pieces of %d: the head is %q", tt.answer, piece, head)
			}
		}
	}
}

func TestProxyErrors(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"},
		{"HTTP/1.1 403 No\r\nContent-Length: 12\r\nX-A: b\r\n\r\nnot for you\nmore", `response: "HTTP/1.1 403 No\r\n\r\nnot for you\n"`},
		{"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n0\r\n\r\n", `\r\n\r\nwhy"`},
		{"HTTP/1.1 403 No\r\n\r\nit stays open", `it stays open"`},
		{"HTTP/1.1 403 No\r\n\r\n" + strings.Repeat("x", 2*maxProxyReason), `\n` + strings.Repeat("x", maxProxyReason) + `"`},
		{"nonsense\r\n\r\n", "HTTP response"},
		{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxProxyReply), "too long"},
	} {
		_, err := newFakeProxy(t, tt.reply, 0).dial(context.Background(), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: %v, want %q in it", tt.reply, err, tt.want)
		}
	}
}

func TestProxySilence(t *testing.T) {
	p := newFakeProxy(t, "HTTP/1.1 200 OK", 0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.dial(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestProxyFailsWithItsAnswer: an error that comes with the end of a proxy's answer is that of the tunnel, as nobody would
// find it later.
func TestProxyFailsWithItsAnswer(t *testing.T) {
	reset := errors.New("reset")
	nc := &testutils.LastWords{Conn: testutils.Discards{}, Words: "HTTP/1.1 200 OK\r\n\r\n", Err: reset}
	if err := Tunnel(t.Context(), nc, &url.URL{}, "server.example:443", "test-agent"); !errors.Is(err, reset) {
		t.Errorf("the tunnel: %v", err)
	}
}
