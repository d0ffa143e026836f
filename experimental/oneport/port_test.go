// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// rig is both servers behind one port.
type rig struct {
	t      *testing.T
	port   *Port
	rpc    *grpc.Server
	web    *http.Server
	addr   string
	secure bool
	served chan error // of the port, the server of gRPC, that of HTTP
	settle time.Duration
	opts   Options
	side   func(net.Listener) net.Listener // what is put around that of gRPC; nil: nothing

	mu    sync.Mutex
	auth  []credentials.AuthInfo // of each RPC
	inWeb int                    // RPCs that came by way of net/http
}

var identity = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

func clientTLS(protos ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protos} // both ends are ours
}

// hidden hides what a connection is.
type hidden struct{ net.Conn }

func hide(c net.Conn) net.Conn { return &hidden{c} }

func (h *hidden) Read(p []byte) (int, error) { return h.Conn.Read(p) }

// start serves over TLS or in plain text, and ends with the test.
func start(t *testing.T, secure bool, set ...func(*rig, *net.Listener)) *rig {
	t.Helper()
	if secure && !(tlsconn.CanGiveBack() && releases()) {
		t.Skip("TLS is not looked into here")
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, addr: lis.Addr().String(), secure: secure, served: make(chan error, 3)}
	r.settle = 30 * time.Second // a test that meets it is broken, or sets it itself
	r.rpc = grpc.NewServer(grpc.Creds(Credentials()), grpc.UnaryInterceptor(r.observe))
	healthpb.RegisterHealthServer(r.rpc, health.NewServer())
	r.web = &http.Server{Handler: Handler(r.rpc, http.HandlerFunc(r.answer)), Protocols: new(http.Protocols)}
	r.web.Protocols.SetHTTP1(true)
	r.web.Protocols.SetHTTP2(true)
	r.web.Protocols.SetUnencryptedHTTP2(true)
	for _, f := range set {
		f(r, &lis)
	}
	if secure && r.opts.TLS == nil {
		r.opts.TLS = &tls.Config{Certificates: []tls.Certificate{identity()}}
	}
	if r.port, err = New(lis, r.opts); err != nil {
		t.Fatal(err)
	}
	r.port.settle = r.settle
	go func() { r.served <- r.port.Serve() }()
	rpc := r.port.GRPC()
	if r.side != nil {
		rpc = r.side(rpc)
	}
	go func() { r.served <- r.rpc.Serve(rpc) }()
	go func() { r.served <- r.web.Serve(r.port.HTTP()) }()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	r.rpc.Stop()
	_ = r.web.Close()
	_ = r.port.Close()
	for range 3 {
		switch err := <-r.served; {
		case err == nil, errors.Is(err, http.ErrServerClosed), errors.Is(err, net.ErrClosed):
		case errors.Is(err, grpc.ErrServerStopped): // before its goroutine came to Serve
		default:
			r.t.Errorf("Serve: %v", err)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// observe notes who calls.
func (r *rig) observe(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
	p, _ := peer.FromContext(ctx)
	r.mu.Lock()
	r.auth = append(r.auth, p.AuthInfo)
	if ctx.Value(http.ServerContextKey) != nil {
		r.inWeb++
	}
	r.mu.Unlock()
	return h(ctx, req)
}

// answer is the handler of HTTP: it says how it was asked.
func (r *rig) answer(w http.ResponseWriter, req *http.Request) {
	n, _ := io.Copy(io.Discard, req.Body)
	fmt.Fprintf(w, "%s %s, %d bytes, TLS %t", req.Proto, req.URL.Path, n, req.TLS != nil)
}

// channel is one of gRPC.
func (r *rig) channel() *grpc.ClientConn {
	r.t.Helper()
	creds := insecure.NewCredentials()
	if r.secure {
		creds = credentials.NewTLS(clientTLS())
	}
	cc, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cc.Close() })
	return cc
}

func (r *rig) check(cc *grpc.ClientConn) {
	r.t.Helper()
	if err := check(r.t.Context(), cc); err != nil {
		r.t.Error(err)
	}
}

func check(ctx context.Context, cc *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	return err
}

// browser is a client of HTTP, of the second version of it or the first.
func (r *rig) browser(second bool) *http.Client {
	tr := &http.Transport{TLSClientConfig: clientTLS(), Protocols: new(http.Protocols)}
	switch {
	case !second:
		tr.Protocols.SetHTTP1(true)
	case r.secure:
		tr.Protocols.SetHTTP2(true)
	default:
		tr.Protocols.SetUnencryptedHTTP2(true)
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

func (r *rig) url(path string) string {
	if r.secure {
		return "https://" + r.addr + path
	}
	return "http://" + r.addr + path
}

// ask posts a body and wants the handler's answer.
func (r *rig) ask(c *http.Client, path string, size int) {
	r.t.Helper()
	res, err := c.Post(r.url(path), "text/plain", strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if want := fmt.Sprintf("%s %s, %d bytes, TLS %t", res.Proto, path, size, r.secure); err != nil || string(got) != want {
		r.t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// call makes an RPC with a client of HTTP.
func (r *rig) call(c *http.Client) {
	r.t.Helper()
	msg, err := proto.Marshal(&healthpb.HealthCheckRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(msg))), msg...)
	req, err := http.NewRequest(http.MethodPost, r.url(healthpb.Health_Check_FullMethodName), bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	res, err := c.Do(req)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil || res.Trailer.Get("Grpc-Status") != "0" {
		r.t.Errorf("%v, trailers %v", err, res.Trailer)
	}
}

func forBoth(t *testing.T, f func(t *testing.T, secure bool)) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) { f(t, secure) })
	}
}

func TestPort(t *testing.T) {
	for name, set := range map[string]func(*rig, *net.Listener){
		"socket":  func(*rig, *net.Listener) {},
		"wrapped": func(_ *rig, l *net.Listener) { *l = testutils.WrapListener{Listener: *l, Wrap: hide} },
	} {
		t.Run(name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, secure bool) {
				r := start(t, secure, set)
				cc := r.channel()
				first, second := r.browser(false), r.browser(true)
				var wg sync.WaitGroup
				for i := range 10 {
					wg.Go(func() { r.check(cc) })
					wg.Go(func() { r.check(r.channel()) })
					wg.Go(func() { r.ask(first, "/a", i*1000) })
					wg.Go(func() { r.ask(second, "/b", i*20_000) })
					wg.Go(func() { r.ask(r.browser(true), "/c", i) })
				}
				wg.Wait()
				if r.inWeb != 0 || len(r.auth) != 20 {
					t.Errorf("%d of %d RPCs by way of net/http", r.inWeb, len(r.auth))
				}
				for _, auth := range r.auth {
					info, is := auth.(credentials.TLSInfo)
					if is != secure || is && (info.State.NegotiatedProtocol != "h2" || info.SecurityLevel != credentials.PrivacyAndIntegrity) {
						t.Fatalf("%#v", auth)
					}
				}
			})
		})
	}
}

// A client that has both kinds of request uses one connection where that began with HTTP.
func TestMixedHTTPFirst(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure)
		c := r.browser(true)
		for range 3 {
			r.ask(c, "/", 10)
			r.call(c)
		}
		if r.inWeb != 3 {
			t.Errorf("%d RPCs by way of net/http", r.inWeb)
		}
	})
}

// Where it began with gRPC it makes another for the rest, and loses nothing.
func TestMixedGRPCFirst(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure)
		c := r.browser(true)
		r.call(c)
		for range 3 {
			r.ask(c, "/", 10)
			r.call(c)
		}
		if r.inWeb == 0 || r.inWeb == 4 {
			t.Errorf("%d of 4 RPCs by way of net/http", r.inWeb)
		}
	})
}

// An idle connection of gRPC holds as little as on a port of its own.
func TestParks(t *testing.T) {
	if !releases() {
		t.Skip("idle connections keep their buffers here")
	}
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure)
		before := footprint.Read()
		r.check(r.channel())
		for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
			now := footprint.Read()
			if now.Parked == 2 && now.Connections == 2 { // those of earlier tests may have been closing
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%+v, then %+v; %v", before, now, footprint.Unparkable())
			}
		}
	})
}

// talker is a client of HTTP/2 that says just what it is told to.
type talker struct {
	t *testing.T
	net.Conn
}

func (r *rig) talk() *talker {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.secure {
		c = tls.Client(c, clientTLS("h2"))
	}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	r.t.Cleanup(func() { c.Close() })
	return &talker{r.t, c}
}

func (c *talker) say(p ...[]byte) {
	c.t.Helper()
	if _, err := c.Write(bytes.Join(p, nil)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talker) hear() (frame.Header, []byte) {
	c.t.Helper()
	b := make([]byte, frame.HeaderLen)
	if _, err := io.ReadFull(c, b); err != nil {
		c.t.Fatal(err)
	}
	h := frame.ParseHeader(b)
	p := make([]byte, h.Length)
	if _, err := io.ReadFull(c, p); err != nil {
		c.t.Fatal(err)
	}
	return h, p
}

// answered hears the rest until the stream is over, and counts the acknowledgements of
// SETTINGS. It acknowledges those that it hears.
func (c *talker) answered() (acks int) {
	c.t.Helper()
	for {
		h, p := c.hear()
		switch {
		case h.Type == frame.Settings && h.Flags.Has(frame.FlagAck):
			acks++
		case h.Type == frame.Settings:
			c.say(ack)
		case h.Type == frame.GoAway, h.Type == frame.RSTStream:
			c.t.Fatalf("%+v %q", h, p)
		case h.StreamID == 1 && h.Flags.Has(frame.FlagEndStream):
			return acks
		}
	}
}

// A client may wait for the server's SETTINGS before it asks for anything. Nothing is said
// to it twice then, whoever serves it.
func TestWaitsForSettings(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		for _, contentType := range []string{"application/grpc", "text/plain"} {
			for _, late := range []bool{false, true} {
				r := start(t, secure)
				c := r.talk()
				c.say(hello())
				if h, _ := c.hear(); h.Type != frame.Settings || h.Flags != 0 || h.Length != 0 {
					t.Fatalf("first of all %+v", h)
				}
				body := frame.AppendDataHeader(nil, 1, 5, true)
				body = append(body, 0, 0, 0, 0, 0)
				path := block(":method", "POST", ":scheme", "http", ":path", healthpb.Health_Check_FullMethodName, ":authority", "test", "content-type", contentType)
				if late { // the acknowledgement
					c.say(headers(path), body, ack)
				} else {
					c.say(ack, headers(path), body)
				}
				if acks := c.answered(); acks != 1 {
					t.Errorf("%d acknowledgements", acks)
				}
				// The connection goes on.
				c.say(ping)
				for {
					if h, _ := c.hear(); h.Type == frame.Ping && h.Flags.Has(frame.FlagAck) {
						break
					} else if h.Type == frame.GoAway {
						t.Fatalf("%+v", h)
					}
				}
			}
		}
	})
}

// A client that says no more is one of gRPC.
func TestSettles(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure, func(r *rig, _ *net.Listener) { r.settle = 100 * time.Millisecond })
		c := r.talk()
		c.say(hello())
		c.hear()
		c.say(ack)
		acked := false
		for !acked {
			h, _ := c.hear()
			acked = h.Type == frame.Settings && h.Flags.Has(frame.FlagAck)
		}
		c.say(headers(request("text/html"))) // and now this
		var refused, leaves bool
		for !refused || !leaves {
			switch h, p := c.hear(); h.Type {
			case frame.RSTStream:
				code, err := frame.ParseRSTStream(h, p)
				refused = err == nil && code == frame.RefusedStream
			case frame.GoAway:
				g, err := frame.ParseGoAway(h, p)
				leaves = err == nil && g.Code == frame.NoError
			}
		}
	})
}

// A client that does not speak is left to net/http.
func TestSilent(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		got := make(chan net.Conn, 1)
		r := start(t, secure, func(r *rig, _ *net.Listener) {
			r.settle = 50 * time.Millisecond
			r.web.ConnState = func(c net.Conn, s http.ConnState) {
				if s == http.StateNew {
					got <- c
				}
			}
		})
		c := r.talk()
		if tc, ok := c.Conn.(*tls.Conn); ok {
			if err := tc.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if nc := <-got; secure {
			if tc, ok := nc.(*tls.Conn); !ok {
				t.Errorf("a %T", nc)
			} else if _, ok := tc.NetConn().(*net.TCPConn); !ok {
				t.Errorf("over a %T", tc.NetConn())
			}
		} else if _, ok := nc.(*net.TCPConn); !ok {
			t.Errorf("a %T", nc)
		}
	})
}

// A client that never acknowledges is not waited for.
func TestNeverAcknowledges(t *testing.T) {
	r := start(t, false, func(r *rig, _ *net.Listener) { r.settle = 50 * time.Millisecond })
	c := r.talk()
	c.say(hello())
	c.hear()
	c.say(headers(request("text/plain")))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("it is answered")
	}
}

func TestHandshakeTimeout(t *testing.T) {
	r := start(t, true, func(r *rig, _ *net.Listener) { r.opts.HandshakeTimeout = 50 * time.Millisecond })
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}

// A connection is closed whose handshake is left by the program's code.
func TestCallbackEndsGoroutine(t *testing.T) {
	r := start(t, true, func(r *rig, _ *net.Listener) {
		r.opts.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			runtime.Goexit()
			return nil, nil
		}}
	})
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := tls.Client(c, clientTLS("h2")).Handshake(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// limited is a listener whose connections are wrapped, as by netutil.LimitListener.
type limited struct{ net.Listener }

type limitedConn struct {
	net.Conn
	release func()
}

func (l limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &limitedConn{c, func() {}}, nil
}

func (c *limitedConn) Close() error { c.release(); return c.Conn.Close() }

// TestLimited: a side of the port may be wrapped. The port stays a shared one: other requests go elsewhere.
func TestLimited(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure, func(r *rig, _ *net.Listener) {
			r.side = func(lis net.Listener) net.Listener { return limited{lis} }
		})
		r.check(r.channel())
		c := r.browser(true)
		r.call(c)
		r.ask(c, "/", 10)
	})
}

// A connection that its server does not accept is closed.
func TestNotAccepted(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := New(lis, Options{HandshakeTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- port.Serve() }()
	c, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	port.Close()
	<-served
}

func TestPlainTextToTLS(t *testing.T) {
	r := start(t, true)
	res, err := r.browser(false).Get("http://" + r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Error(res.Status)
	}
}

// One side can stop while the other goes on.
func TestStopsOneSide(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		t.Run("gRPC", func(t *testing.T) {
			r := start(t, secure)
			r.check(r.channel())
			r.rpc.GracefulStop()
			r.ask(r.browser(true), "/", 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			if check(ctx, r.channel()) == nil {
				t.Error("an RPC is served")
			}
		})
		t.Run("HTTP", func(t *testing.T) {
			r := start(t, secure)
			c := r.browser(true)
			r.ask(c, "/", 1)
			if err := r.web.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			r.check(r.channel())
			if _, err := r.browser(true).Get(r.url("/")); err == nil {
				t.Error("a request is served")
			}
		})
	})
}

// Close tells those who have nobody yet that they may go elsewhere, and leaves the others.
func TestClose(t *testing.T) {
	forBoth(t, func(t *testing.T, secure bool) {
		r := start(t, secure)
		cc := r.channel()
		r.check(cc)
		c := r.talk()
		c.say(hello())
		c.hear()
		r.port.Close()
		for {
			if h, p := c.hear(); h.Type == frame.GoAway {
				if g, err := frame.ParseGoAway(h, p); err != nil || g.LastStreamID != 0 || g.Code != frame.NoError {
					t.Errorf("%+v, %v", g, err)
				}
				break
			}
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Error(err)
		}
		r.check(cc)
		if _, err := net.Dial("tcp", r.addr); err == nil {
			t.Error("the listener is open")
		}
		if err := r.port.Close(); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// Where nothing can be given back, net/http serves both.
func TestDoesNotLook(t *testing.T) {
	if tlsconn.CanGiveBack() && releases() {
		t.Skip("TLS is looked into here")
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := New(lis, Options{TLS: &tls.Config{Certificates: []tls.Certificate{identity()}}})
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer(grpc.Creds(Credentials()))
	healthpb.RegisterHealthServer(rpc, health.NewServer())
	web := &http.Server{Handler: Handler(rpc, http.NotFoundHandler())}
	served := make(chan error, 2)
	go func() { served <- port.Serve() }()
	go func() { served <- web.Serve(port.HTTP()) }()
	r := &rig{t: t, addr: lis.Addr().String(), secure: true}
	r.check(r.channel())
	web.Close()
	port.Close()
	rpc.Stop()
	<-served
	<-served
}

type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, io.ErrUnexpectedEOF }

// The listener's error is everybody's.
func TestListenerFails(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, err := New(failing{lis}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Serve(); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	for _, l := range []net.Listener{port.GRPC(), port.HTTP()} {
		if _, err := l.Accept(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := New(nil, Options{TLS: &tls.Config{}}); err == nil {
		t.Error("no certificate is needed")
	}
	for _, protos := range [][2][]string{
		{nil, {"h2", "http/1.1"}},
		{{"http/1.1"}, {"h2", "http/1.1"}},
		{{"http/1.1", "h2"}, {"http/1.1", "h2"}},
	} {
		own := &tls.Config{Certificates: []tls.Certificate{identity()}, NextProtos: protos[0]}
		c, err := Options{TLS: own}.config()
		if err != nil || strings.Join(c.NextProtos, " ") != strings.Join(protos[1], " ") || len(own.NextProtos) != len(protos[0]) {
			t.Errorf("%v: %v, %v", protos[0], c.NextProtos, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	c := Credentials().Clone()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, _, err := c.ServerHandshake(a); err == nil {
		t.Error("takes a connection of others")
	}
	if _, _, err := c.ClientHandshake(t.Context(), "", a); err == nil {
		t.Error("takes the client's side")
	}
	if err := c.OverrideServerName("x"); err == nil {
		t.Error("has a server name")
	}
	if c.Info().SecurityProtocol != "tls" {
		t.Error(c.Info())
	}
}

// TestCallbacksSeeSocket: also those of a configuration that GetConfigForClient returns see the listener's connection.
func TestCallbacksSeeSocket(t *testing.T) {
	var seen []net.Conn
	own := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		seen = append(seen, hello.Conn)
		return &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			seen = append(seen, hello.Conn)
			id := identity()
			return &id, nil
		}, NextProtos: []string{"h2"}}, nil
	}}
	r := start(t, true, func(r *rig, _ *net.Listener) { r.opts.TLS = own })
	cc := r.channel()
	defer cc.Close()
	r.check(cc)
	for _, c := range seen {
		if _, ok := c.(*net.TCPConn); !ok {
			t.Errorf("a callback saw a %T", c)
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d callbacks", len(seen))
	}
}

// ownTimeouts is a connection whose deadlines are reported by an error of its own.
type ownTimeouts struct{ net.Conn }

type ownTimeout struct{}

func (ownTimeout) Error() string   { return "out of time" }
func (ownTimeout) Timeout() bool   { return true }
func (ownTimeout) Temporary() bool { return true }

func (c *ownTimeouts) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ownTimeout{}
	}
	return n, err
}

// TestTimeoutsOfItsOwn: a client that waits for the server's SETTINGS gets them whatever error says that it waits.
func TestTimeoutsOfItsOwn(t *testing.T) {
	r := start(t, false, func(_ *rig, lis *net.Listener) {
		*lis = testutils.WrapListener{Listener: *lis, Wrap: func(c net.Conn) net.Conn { return &ownTimeouts{c} }}
	})
	c := r.talk()
	c.say(hello())
	if h, _ := c.hear(); h.Type != frame.Settings {
		t.Errorf("first of all %+v", h)
	}
}

// idles has a time limit for each Read, which takes the place of any that was set.
type idles struct{ net.Conn }

func (c idles) Read(p []byte) (int, error) {
	_ = c.Conn.SetReadDeadline(time.Now().Add(time.Hour))
	return c.Conn.Read(p)
}

// readyIdles does so in a ReadOnReady of its own.
type readyIdles struct{ idles }

func (c readyIdles) Read(p []byte) (int, error) { return c.idles.Read(p) }

func (c readyIdles) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := c.Read((*buf)[:size])
	if n == 0 {
		pool.Put(buf)
		return nil, 0, err
	}
	return buf, n, err
}

// TestWrapperSetsDeadlines: a client that waits for the server's SETTINGS gets them although a wrapper's Read sets
// deadlines of its own, and its RPC is served.
func TestWrapperSetsDeadlines(t *testing.T) {
	wraps := map[string]func(net.Conn) net.Conn{
		"Read":        func(c net.Conn) net.Conn { return idles{c} },
		"ReadOnReady": func(c net.Conn) net.Conn { return readyIdles{idles{c}} },
	}
	for i := range 2 * len(wraps) {
		secure, name := i%2 == 0, slices.Sorted(maps.Keys(wraps))[i/2]
		t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
			r := start(t, secure, func(_ *rig, lis *net.Listener) {
				*lis = testutils.WrapListener{Listener: *lis, Wrap: wraps[name]}
			})
			c := r.talk()
			c.say(hello())
			if h, _ := c.hear(); h.Type != frame.Settings {
				t.Errorf("first of all %+v", h)
			}
			r.check(r.channel())
		})
	}
}

// TestClosesOneDirection: the server's connection lets its end be told before it is closed.
func TestClosesOneDirection(t *testing.T) {
	near, far := testutils.Sockets(t, "tcp")
	if err := (&conn{Conn: near}).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}
