// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/oneport"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestMain(m *testing.M) {
	channelz.TurnOn()
	leakcheck.Main(m)
}

// patience is when something counts as never: large messages in small pieces, sixty tests side by side, take long under
// the race detector on a machine that does other things.
const patience = 2 * time.Minute

// place is a server and a channel to it, over wrapped connections.
type place struct {
	t      *testing.T
	kind   Kind
	addr   string
	relay  *relay // between both; nil: there is none
	dials  string // the address that the channel dials
	server *grpc.Server
	cc     *grpc.ClientConn
	push   chan struct{} // makes the server send on a stream

	mu     sync.Mutex
	dialed []net.Conn // below the wrapper
	taken  []net.Conn
	around []net.Conn // the wrappers of those taken
}

// setting is where a kind is tried.
type setting struct {
	kind    Kind
	network string
	secure  bool
	shared  bool // the server is behind a port of package oneport
}

func (s setting) String() string {
	name := s.kind.Name + ", " + s.network
	if s.secure {
		name += ", TLS"
	}
	if s.shared {
		name += ", oneport"
	}
	return name
}

// whyNot is a part of the reason that is expected.
func (s setting) whyNot() string {
	switch {
	case s.network == "unix":
		return s.kind.WhyNotUnix
	case s.secure:
		return cmp.Or(s.kind.WhyNotTLS, s.kind.WhyNot)
	}
	return s.kind.WhyNot
}

func settings() (all []setting) {
	for _, k := range allKinds() {
		for _, network := range []string{"tcp", "unix"} {
			for _, secure := range []bool{false, true} {
				if testing.Short() && (network == "unix" || secure) {
					continue
				}
				if !(network == "unix" && (k.OnlyTCP || secure) || secure && k.Secures) {
					all = append(all, setting{kind: k, network: network, secure: secure})
				}
				if k.Shared && network == "tcp" && (!secure || tlsconn.CanGiveBack() && envconfig.TLSIdleRelease) {
					all = append(all, setting{kind: k, network: network, secure: secure, shared: true})
				}
			}
		}
	}
	return all
}

// newPlace starts a server and a channel to it, with a relay between them if it is wanted.
func newPlace(t *testing.T, s setting, relayed bool) *place {
	t.Helper()
	lis := testutils.ListenOn(t, s.network)
	p := &place{t: t, kind: s.kind, addr: lis.Addr().String(), push: make(chan struct{})}
	p.dials = p.addr
	if relayed {
		p.relay = newRelay(t, s.network, p.addr)
		p.dials = p.relay.lis.Addr().String()
	}
	server, client := insecure.NewCredentials(), insecure.NewCredentials()
	config, clientConfig := configs()
	if s.secure {
		server, client = credentials.NewTLS(config), credentials.NewTLS(clientConfig)
	}
	lis = listener{lis, func(c net.Conn) net.Conn { return p.note(&p.around, s.kind.Server(p.note(&p.taken, c))) }}
	var served sync.WaitGroup
	stop := func() {}
	if s.shared {
		port := share(t, s, lis, config)
		served.Go(func() { _ = port.Serve() })
		stop = func() { _ = port.Close() }
		lis, server = port.GRPC(), oneport.Credentials()
	}
	p.server = grpc.NewServer(grpc.Creds(server), grpc.MaxRecvMsgSize(8<<20))
	p.server.RegisterService(&desc, p)
	served.Go(func() { _ = p.server.Serve(lis) })
	t.Cleanup(func() { p.server.Stop(); stop(); served.Wait() })
	var err error
	p.cc, err = grpc.NewClient("passthrough:///test.server", grpc.WithTransportCredentials(client),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, s.network, p.dials)
			if err != nil {
				return nil, err
			}
			return s.kind.Client(p.note(&p.dialed, c)), nil
		}), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(8<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cc.Close() })
	return p
}

// share puts a port of package oneport in front of a listener.
func share(t *testing.T, s setting, lis net.Listener, config *tls.Config) *oneport.Port {
	t.Helper()
	var opts oneport.Options
	if s.secure {
		opts.TLS = config
	}
	port, err := oneport.New(lis, opts)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// note adds c to a list.
func (p *place) note(list *[]net.Conn, c net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, c)
	return c
}

// last is the newest connection of those noted.
func (p *place) last(list *[]net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (*list)[len(*list)-1]
}

var desc = grpc.ServiceDesc{
	ServiceName: "wrappers.Test", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.BytesValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		if string(in.Value) == "wait" {
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return in, nil
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Push", ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
		for {
			select {
			case <-srv.(*place).push:
				if err := s.SendMsg(wrapperspb.Bytes([]byte("pushed"))); err != nil {
					return err
				}
			case <-s.Context().Done():
				return nil
			}
		}
	}}},
}

// echo makes a call with p.
func (p *place) echo(ctx context.Context, msg []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := new(wrapperspb.BytesValue)
	if err := p.cc.Invoke(ctx, "/wrappers.Test/Echo", wrapperspb.Bytes(msg), out, grpc.WaitForReady(true)); err != nil {
		return err
	}
	if !bytes.Equal(out.Value, msg) {
		return errors.New("another message came back")
	}
	return nil
}

func (p *place) mustEcho(msg []byte) {
	p.t.Helper()
	if err := p.echo(p.t.Context(), msg); err != nil {
		p.t.Fatalf("%v; %q", err, p.options())
	}
}

// until waits for what no event tells.
func (p *place) until(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("not within %v: %s; %q", patience, what, p.options())
		}
	}
}

// awaitIdle waits until the connection is parked at both ends, or known not to be.
func (p *place) awaitIdle(whyNot string) {
	p.t.Helper()
	p.until("idle as expected: "+whyNot, func() bool {
		o := p.options()
		return whyNot != "" && strings.Contains(o[0], whyNot) || whyNot == "" && strings.Contains(o[0], "parked=true") && strings.Contains(o[1], "parked=true")
	})
}

// options are those that channelz has of the connection's ends, the server's first.
func (p *place) options() [2]string {
	var ends [2]string
	servers, _ := channelz.Servers(channelz.Page{Limit: 10_000})
	for _, s := range servers {
		refs, _ := channelz.ServerSockets(s.ID, channelz.Page{})
		for _, r := range refs {
			if d := socket(r); d != nil && d.LocalAddr.String() == p.addr {
				ends[0] = show(d)
			}
		}
	}
	top, _ := channelz.TopChannels(channelz.Page{Limit: 10_000})
	for _, ch := range top {
		for _, sub := range ch.Children {
			d, _ := channelz.NodeByID(channelz.Subchannel, sub.ID)
			for _, r := range d.Sockets {
				if d := socket(r); d != nil && d.RemoteAddr.String() == p.dials {
					ends[1] = show(d)
				}
			}
		}
	}
	return ends
}

func socket(r channelz.Ref) *channelz.SocketData {
	s := channelz.SocketByID(r.ID)
	if s == nil {
		return nil
	}
	d := s.Data()
	if d.LocalAddr == nil || d.RemoteAddr == nil {
		return nil
	}
	return &d
}

func show(d *channelz.SocketData) string {
	var b strings.Builder
	for _, o := range d.Options {
		b.WriteString(strings.TrimPrefix(o.Name, "grpc.") + "=" + o.Value + "\n")
	}
	return b.String()
}

// lose waits until the channel has noticed that its connection is gone.
func (p *place) lose() {
	p.t.Helper()
	p.until("the loss is noticed", func() bool { return p.cc.GetState() != connectivity.Ready })
}

// stream opens one.
func (p *place) stream(ctx context.Context) grpc.ClientStream {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	p.t.Cleanup(cancel)
	s, err := p.cc.NewStream(ctx, &desc.Streams[0], "/wrappers.Test/Push", grpc.WaitForReady(true))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// wantCode checks what a call ended with.
func (p *place) wantCode(err error, want ...codes.Code) {
	p.t.Helper()
	for _, c := range want {
		if status.Code(err) == c {
			return
		}
	}
	p.t.Errorf("a call ended with %v, want %v; %q", err, want, p.options())
}

// pushSoon has the server send, once it can.
func (p *place) pushSoon() {
	select {
	case p.push <- struct{}{}:
	case <-p.t.Context().Done():
	}
}

// received reads a message, which has to come.
func received(s grpc.ClientStream) error {
	out := new(wrapperspb.BytesValue)
	err := s.RecvMsg(out)
	if err == nil && string(out.Value) != "pushed" {
		return io.ErrUnexpectedEOF
	}
	return err
}
