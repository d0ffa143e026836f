// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bufio"
	"crypto/tls"
	"net"
)

// Kind is a kind of wrapper.
type Kind struct {
	Name string
	// Server and Client wrap an end of a connection over TCP or a unix socket. If they are not the same,
	// both ends have to be wrapped.
	Server, Client func(net.Conn) net.Conn
	// OnlyTCP says that the wrapper can't be around a unix socket.
	OnlyTCP bool
	// Secures says that the wrapper is a layer of encryption.
	Secures bool
	// Shared says that tests also use wrapped connections to a port that gRPC shares with HTTP (package
	// experimental/oneport).
	Shared bool
	// WhyNot is a part of the reason why a connection over TCP can't be parked; "" if it can be.
	WhyNot string
	// WhyNotTLS is the same with our TLS over it, where it is another reason.
	WhyNotTLS string
	// WhyNotUnix is the same for a unix socket.
	WhyNotUnix string
}

const inReadOnReady = "is waited for in a ReadOnReady of its own"

const readsItself = "has a Read of its own, in which it is waited for"

// Kinds returns all kinds. The first is no wrapper at all.
func Kinds() []Kind {
	server, client := configs()
	kinds := []Kind{
		{Name: "exact", Server: same, Shared: true},
		{Name: "embeds", Server: func(c net.Conn) net.Conn { return embeds{c} }, Shared: true},
		{Name: "embeds deeper", Server: func(c net.Conn) net.Conn { return &deeper{deep{&embeds{c}}} }},
		{Name: "keep-alive listener", Server: newKeepAlive, OnlyTCP: true},
		{Name: "LimitListener", Server: limited},
		{Name: "metering", Server: Meter, Shared: true, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "meters reads", Server: func(c net.Conn) net.Conn { return &readMeter{Conn: c} }, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "replays", Server: func(c net.Conn) net.Conn { return &replays{Conn: c} }, Shared: true, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "bytes with the end", Server: func(c net.Conn) net.Conn { return &lastWords{c} }, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "splits", Server: func(c net.Conn) net.Conn { return &splits{c} }, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "buffers", Server: func(c net.Conn) net.Conn { return &buffers{c, bufio.NewReaderSize(c, 100)} }, WhyNot: readsItself, WhyNotUnix: readsItself},
		{
			Name: "skips a header", Server: newSkips, Client: newHeads,
			WhyNot: readsItself, WhyNotUnix: readsItself,
		},
		{
			Name: "idle timeout", Server: func(c net.Conn) net.Conn { return &timesOut{c} },
			WhyNot: readsItself, WhyNotUnix: readsItself,
		},
		{Name: "reads ahead", Server: ReadAhead, WhyNot: readsItself, WhyNotUnix: readsItself},
		{Name: "tunnel", Server: newTunnel, WhyNot: "is no socket", WhyNotUnix: "is no socket"},
		{Name: "opts in", Server: func(c net.Conn) net.Conn { return &optsIn{plain{c}} }},
		{Name: "counts, and says so", Server: func(c net.Conn) net.Conn { return &tellsCounts{meter{Conn: c}} }, Shared: true},
		{Name: "counts reads, and says so", Server: newCountsReads, Shared: true},
		{
			Name: "reads when ready", Server: func(c net.Conn) net.Conn { return &waits{plain{c}} },
			WhyNot: inReadOnReady, WhyNotTLS: "is no socket", WhyNotUnix: inReadOnReady,
		},
		{
			Name: "the program's TLS", Secures: true,
			Server: func(c net.Conn) net.Conn { return tls.Server(c, server) },
			Client: func(c net.Conn) net.Conn { return tls.Client(c, client) },
		},
		{
			Name: "the program's TLS over counted reads", Secures: true,
			Server: func(c net.Conn) net.Conn { return tls.Server(newCountsReads(c), server) },
			Client: func(c net.Conn) net.Conn { return tls.Client(newCountsReads(c), client) },
		},
	}
	for i := range kinds {
		if kinds[i].Client == nil {
			kinds[i].Client = kinds[i].Server
		}
	}
	return kinds
}

// Listen returns a listener whose connections are wrapped.
func (k Kind) Listen(lis net.Listener) net.Listener { return listener{lis, k.Server} }

type listener struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c), nil
}
