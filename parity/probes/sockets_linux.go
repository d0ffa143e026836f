// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// socketLevels are the levels of options, and how many options each can have.
var socketLevels = []struct {
	name        string
	level, last int
	moving      []int // what they say depends on the moment, the process or the peer
}{
	// SNDBUF, RCVBUF (whether they were set is SO_BUF_LOCK), ERROR, PEERCRED, PEERNAME, PEERSEC,
	// INCOMING_CPU, MEMINFO, INCOMING_NAPI_ID, COOKIE, PEERGROUPS, NETNS_COOKIE, PEERPIDFD
	{"SOL_SOCKET", syscall.SOL_SOCKET, 90, []int{7, 8, 4, 17, 28, 31, 49, 55, 56, 57, 59, 71, 77}},
	// MAXSEG, WINDOW_CLAMP, INFO, QUICKACK, TIMESTAMP, CC_INFO
	{"IPPROTO_TCP", syscall.IPPROTO_TCP, 50, []int{2, 10, 11, 12, 24, 26}},
	{"IPPROTO_IP", syscall.IPPROTO_IP, 60, []int{9, 52}}, // PKTOPTIONS, PROTOCOL (the port)
	{"IPPROTO_IPV6", syscall.IPPROTO_IPV6, 80, []int{6}}, // 2292PKTOPTIONS
}

// socketOptions are all options of a socket that it has, one a line.
func socketOptions(fd int) (lines []string) {
	for _, l := range socketLevels {
		for option := range l.last + 1 {
			if slices.Contains(l.moving, option) {
				continue
			}
			if v, err := syscall.GetsockoptInt(fd, l.level, option); err == nil {
				lines = append(lines, fmt.Sprintf("%s %d: %d", l.name, option, v))
			}
		}
	}
	return lines
}

// socketsOf finds the sockets of the process that are connected to an address, or accepted at it.
func socketsOf(address string) (dialed, accepted []int) {
	const most = 4096
	for fd := range most {
		local, err := syscall.Getsockname(fd)
		if err != nil {
			continue
		}
		peer, err := syscall.Getpeername(fd)
		switch {
		case err != nil: // a listener
		case textOf(peer) == address:
			dialed = append(dialed, fd)
		case textOf(local) == address:
			accepted = append(accepted, fd)
		}
	}
	return dialed, accepted
}

func textOf(a syscall.Sockaddr) string {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String()
	case *syscall.SockaddrInet6:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String()
	case *syscall.SockaddrUnix:
		return a.Name
	}
	return ""
}

// socketCase is a way that a connection comes about. What is nil is the default.
type socketCase struct {
	name     string
	listen   func(*probe.P) net.Listener
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	secure   bool // TLS of both sides' credentials
	proxy    bool // a CONNECT proxy stands between
	onServer keepalive.ServerParameters
	onClient *keepalive.ClientParameters
}

func (c socketCase) run(p *probe.P) {
	lis := rig.Listen
	if c.listen != nil {
		lis = func() net.Listener { return c.listen(p) }
	}
	l := lis()
	cert, pool := rig.Certificate()
	sopts := []grpc.ServerOption{grpc.KeepaliveParams(c.onServer)}
	dopts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if c.secure {
		sopts = append(sopts, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		dopts = append(dopts, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "probe.example")))
	}
	if c.onClient != nil {
		dopts = append(dopts, grpc.WithKeepaliveParams(*c.onClient))
	}
	network, address := l.Addr().Network(), l.Addr().String()
	if c.dial != nil {
		dopts = append(dopts, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return c.dial(ctx, network, address)
		}))
	}
	target := "passthrough:///" + address
	if network == "unix" {
		target = "unix://" + address
	}
	reached := address
	if c.proxy {
		target, reached = "dns:///probe.example:443", connectTo(p, address)
		_ = os.Setenv("HTTPS_PROXY", "http://"+reached)
	}
	s := grpc.NewServer(sopts...)
	s.RegisterService(rig.Handlers{}.Desc(), nil)
	go func() { _ = s.Serve(l) }()
	p.Cleanup(s.Stop)
	cc, err := grpc.NewClient(target, dopts...)
	if err != nil {
		p.Printf("NewClient: %v", err)
		return
	}
	p.Cleanup(func() { _ = cc.Close() })
	if err := cc.Invoke(p.Context(), rig.Unary, rig.M("x"), new(rig.Msg)); err != nil {
		p.Printf("call: %v", err)
		return
	}
	mine, _ := socketsOf(reached)
	_, theirs := socketsOf(address)
	p.Printf("client %d, server %d", len(mine), len(theirs))
	for _, fd := range mine {
		for _, line := range socketOptions(fd) {
			p.Printf("client %s", line)
		}
	}
	for _, fd := range theirs {
		for _, line := range socketOptions(fd) {
			p.Printf("server %s", line)
		}
	}
}

// connectTo is a proxy that connects everybody to one address, as it wishes.
func connectTo(p *probe.P, address string) string {
	l := rig.Listen()
	p.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				s, err := net.Dial("tcp", address)
				if err != nil {
					return
				}
				defer s.Close()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				if _, err := r.Peek(1); err != nil { // so nothing comes right behind the answer
					return
				}
				go func() { _, _ = io.Copy(c, s) }()
				_, _ = io.Copy(s, r)
			}()
		}
	}()
	return l.Addr().String()
}

// wrapListener wraps what it accepts.
type wrapListener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l wrapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c), nil
}

// withNetConn is a layer with a Read of its own that tells what is below it.
type withNetConn struct{ net.Conn }

func (w withNetConn) Read(b []byte) (int, error) { return w.Conn.Read(b) }
func (w withNetConn) NetConn() net.Conn          { return w.Conn }

func embedded(c net.Conn) net.Conn { return struct{ net.Conn }{c} }

func on(network, address string, lc net.ListenConfig) func(*probe.P) net.Listener {
	return func(p *probe.P) net.Listener {
		if network == "unix" {
			dir, err := os.MkdirTemp("", "probe")
			if err != nil {
				panic(err)
			}
			p.Cleanup(func() { _ = os.RemoveAll(dir) })
			address = filepath.Join(dir, "s")
		}
		l, err := lc.Listen(p.Context(), network, address)
		if err != nil {
			panic(err)
		}
		return l
	}
}

func wrapping(wrap func(net.Conn) net.Conn) func(*probe.P) net.Listener {
	return func(*probe.P) net.Listener { return wrapListener{rig.Listen(), wrap} }
}

func dialing(d net.Dialer, wrap func(net.Conn) net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

func socketCases() []socketCase {
	same := func(c net.Conn) net.Conn { return c }
	often := net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 2 * time.Second, Count: 4}
	return []socketCase{
		{name: "tcp"},
		{name: "tcp, IPv6", listen: on("tcp", "[::1]:0", net.ListenConfig{})},
		{name: "unix", listen: on("unix", "", net.ListenConfig{})},
		{name: "KeepAliveConfig of the listener", listen: on("tcp", "127.0.0.1:0", net.ListenConfig{KeepAliveConfig: often})},
		{name: "KeepAlive off on the listener", listen: on("tcp", "127.0.0.1:0", net.ListenConfig{KeepAlive: -1})},
		{name: "SetKeepAlivePeriod by the listener", listen: wrapping(func(c net.Conn) net.Conn {
			_ = c.(*net.TCPConn).SetKeepAlivePeriod(3 * time.Minute)
			return c
		})},
		{name: "TLS", secure: true},
		{name: "dialer", dial: dialing(net.Dialer{}, same)},
		{name: "KeepAliveConfig of the dialer", dial: dialing(net.Dialer{KeepAliveConfig: often}, same)},
		{name: "TLS and a dialer", secure: true, dial: dialing(net.Dialer{}, same)},
		{name: "unix and a dialer", listen: on("unix", "", net.ListenConfig{}), dial: dialing(net.Dialer{}, same)},
		{name: "proxy", proxy: true},
		{name: "proxy, TLS", proxy: true, secure: true},
		{
			name: "wrapped LimitListener", dial: dialing(net.Dialer{}, embedded),
			listen: func(*probe.P) net.Listener { return netutil.LimitListener(rig.Listen(), 9) },
		},
		{name: "wrapped, embedded", listen: wrapping(embedded), dial: dialing(net.Dialer{}, embedded)},
		{
			name:   "wrapped, a Read of its own",
			listen: wrapping(func(c net.Conn) net.Conn { return withNetConn{c} }),
			dial:   dialing(net.Dialer{}, func(c net.Conn) net.Conn { return withNetConn{c} }),
		},
		{name: "wrapped, below TLS", secure: true, listen: wrapping(embedded), dial: dialing(net.Dialer{}, embedded)},
		{
			name:   "wrapped in TLS of the program",
			listen: wrapping(func(c net.Conn) net.Conn { return tls.Server(c, programTLS()) }),
			dial:   dialing(net.Dialer{}, func(c net.Conn) net.Conn { return tls.Client(c, programTLS()) }),
		},
	}
}

func programTLS() *tls.Config {
	cert, pool := rig.Certificate()
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, ServerName: "probe.example", NextProtos: []string{"h2"}}
}

// socketProbes compare all options of the sockets of both sides, with what keepalive sets and
// without.
func socketProbes() (all []probe.Probe) {
	for _, c := range socketCases() {
		add := func(name string, c socketCase) {
			all = append(all, probe.Probe{Name: "sockets/" + c.name + name, Run: c.run, Alone: c.proxy})
		}
		add(", defaults", c)
		c.onServer = keepalive.ServerParameters{Time: time.Minute, Timeout: 7 * time.Second}
		c.onClient = &keepalive.ClientParameters{Time: time.Minute, Timeout: 9 * time.Second}
		add(", keepalive", c)
	}
	return append(all, userTimeoutProbes()...)
}

// userTimeoutProbes tell which values the keepalive parameters give a socket.
func userTimeoutProbes() (all []probe.Probe) {
	const day = 24 * time.Hour
	for _, v := range []struct{ every, timeout time.Duration }{
		{0, 7 * time.Second},
		{time.Minute, 0},
		{time.Minute, 999 * time.Microsecond},
		{time.Minute, 7*time.Second + 999*time.Microsecond},
		{time.Minute, -time.Second},
		{-time.Minute, 7 * time.Second},
		{1<<63 - 1, 7 * time.Second},
		{time.Minute, 24 * day},
		{time.Minute, 60 * day},
	} {
		c := socketCase{
			onServer: keepalive.ServerParameters{Time: v.every, Timeout: v.timeout},
			onClient: &keepalive.ClientParameters{Time: v.every, Timeout: v.timeout},
		}
		all = append(all, probe.Probe{Name: fmt.Sprintf("sockets/keepalive %v, %v", v.every, v.timeout), Run: c.run})
	}
	return all
}
