// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Programs find out what happened from texts of errors where a code is not enough. These are
// ones that are known to be looked for.

func TestTextOfLostServer(t *testing.T) {
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(&text{Value: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := st.RecvMsg(new(text)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	wantCode(t, "after the server's end", st.RecvMsg(new(text)), codes.Unavailable, "desc = error reading from server: ")
}

func TestTextOfReset(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	begun := make(chan struct{})
	go func() {
		c, err := lis.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
		_, _ = c.Write(make([]byte, 3))
		_, _ = c.Write([]byte{4, 0, 0, 0, 0, 0}) // with the three before it, SETTINGS
		<-begun
		readUntilQuiet(c)
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}()
	cc := newTestClient(t, lis.Addr().String())
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	close(begun)
	if got, want := status.Convert(st.RecvMsg(new(text))).Message(), "error reading from server: connection reset by peer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// readUntilQuiet reads frames until the client has acknowledged SETTINGS and begun a stream,
// and so has nothing else to say: a reset would be its writer's to find.
func readUntilQuiet(c net.Conn) {
	const headers, settings, ack = 1, 4, 1
	acked, begun := false, false
	for h := make([]byte, 9); !acked || !begun; {
		if _, err := io.ReadFull(c, h); err != nil {
			return
		}
		acked = acked || h[3] == settings && h[4] == ack
		begun = begun || h[3] == headers
		if _, err := io.CopyN(io.Discard, c, int64(h[0])<<16|int64(h[1])<<8|int64(h[2])); err != nil {
			return
		}
	}
}

// TestTextOfHTTP1Server has a server answer that speaks HTTP/1.1 only.
func TestTextOfHTTP1Server(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	cc := newTestClient(t, s.Listener.Addr().String())
	defer cc.Close()
	err := call(testContext(t), cc, "x")
	if got, want := status.Convert(err).Message(), `connection error: desc = "error reading server preface: http2: failed reading the frame payload: `+
		`http2: frame too large, note that the frame header looked like an HTTP/1.1 header"`; status.Code(err) != codes.Unavailable || got != want {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestTextOfMuteServer(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			// What has not been read would make a reset of the end.
			_, _ = io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
			c.Close()
		}
	}()
	cc := newTestClient(t, lis.Addr().String())
	wantCode(t, "a server that hangs up", call(testContext(t), cc, "x"), codes.Unavailable,
		"connection error: ", "error reading server preface: ")
	cc.Close()
	lis.Close()
	<-done
}

func TestTextOfWebServer(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	cc := newTestClient(t, s.Listener.Addr().String())
	defer cc.Close()
	wantCode(t, "a web server", call(testContext(t), cc, "x"), codes.Unimplemented,
		"unexpected HTTP status code received from server: 404 (Not Found)",
		`received unexpected content-type "text/plain; charset=utf-8"`)
}

// TestOwnCodes has an application use codes that gRPC does not define.
func TestOwnCodes(t *testing.T) {
	e := newEcho()
	e.unary = func(context.Context, *text) (*text, error) { return nil, status.Error(1234, "own") }
	cc := newTestClient(t, serve(t, e).addr)
	wantCode(t, "a code of its own", call(testContext(t), cc, "x"), 1234, "desc = own")
}
