// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/soheilhy/cmux"
	"google.golang.org/grpc/credentials"
)

const contentType = "content-type"

// TestCmux has a server share its port with net/http, told apart by each of the matchers.
func TestCmux(t *testing.T) {
	for _, m := range []struct {
		name  string
		match cmux.MatchWriter
	}{
		{"HTTP2", readOnly(cmux.HTTP2())},
		{"HTTP2MatchHeaderFieldSendSettings", cmux.HTTP2MatchHeaderFieldSendSettings(contentType, "application/grpc")},
		{"HTTP2MatchHeaderFieldPrefixSendSettings", cmux.HTTP2MatchHeaderFieldPrefixSendSettings(contentType, "application/grpc")},
		{"PrefixMatcher", readOnly(cmux.PrefixMatcher("PRI "))},
		{"Any", readOnly(cmux.Any())},
	} {
		t.Run(m.name, func(t *testing.T) {
			testLink(t, func(t *testing.T) link { return openCmux(t, m.match, m.name != "Any") })
		})
	}
}

// TestCmuxHeaders has matchers that wait for headers without sending SETTINGS. Clients of
// gRPC, which wait for SETTINGS, can't get past them; those that don't, can.
func TestCmuxHeaders(t *testing.T) {
	for name, match := range map[string]cmux.Matcher{
		"HTTP2HeaderField":       cmux.HTTP2HeaderField(contentType, "application/grpc"),
		"HTTP2HeaderFieldPrefix": cmux.HTTP2HeaderFieldPrefix(contentType, "application/"),
	} {
		t.Run(name, func(t *testing.T) {
			base := listen(t)
			serve(t, muxed(t, base, readOnly(match)))
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			t.Cleanup(transport.CloseIdleConnections)
			for range 10 {
				checkPost(t, transport, "http://"+base.Addr().String())
				transport.CloseIdleConnections()
			}
		})
	}
}

// TestCmuxTLS has the multiplexer see TLS: the server's own, or one that ended before it.
func TestCmuxTLS(t *testing.T) {
	t.Run("matched", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := newTLS(t, "h2")
			l := openCmux(t, readOnly(cmux.TLS()), true)
			l.client, l.server = credentials.NewTLS(client), credentials.NewTLS(server)
			return l
		})
	})
	t.Run("below", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := newTLS(t, "h2")
			base := listen(t)
			l := muxed(t, tls.NewListener(base, server), cmux.HTTP2MatchHeaderFieldSendSettings(contentType, "application/grpc"))
			l.dial = dialer(base)
			l.client = credentials.NewTLS(client)
			return l
		})
	})
}

// openCmux is a server behind match, and if asked for, one of net/http behind HTTP1Fast,
// which has to answer as well.
func openCmux(t *testing.T, match cmux.MatchWriter, beside bool) link {
	base := listen(t)
	if !beside {
		return muxed(t, base, match)
	}
	m := cmux.New(base)
	http1 := m.Match(cmux.HTTP1Fast())
	l := link{lis: m.MatchWithWriters(match), dial: dialer(base)}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "beside")
	})}
	go web.Serve(http1)
	go m.Serve()
	t.Cleanup(func() { web.Close() })
	checkHTTP1(t, base.Addr().String())
	return l
}

func muxed(t *testing.T, base net.Listener, match cmux.MatchWriter) link {
	m := cmux.New(base)
	l := link{lis: m.MatchWithWriters(match), dial: dialer(base)}
	go m.Serve()
	return l
}

func checkHTTP1(t *testing.T, addr string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "beside" {
		t.Errorf("net/http on the same port: %q, %v", body, err)
	}
}

func readOnly(m cmux.Matcher) cmux.MatchWriter {
	return func(_ io.Writer, r io.Reader) bool { return m(r) }
}

// listen listens on a free port of the loopback until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return lis
}

func dialer(lis net.Listener) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", lis.Addr().String())
	}
}
