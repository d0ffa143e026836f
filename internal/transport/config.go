// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ballast"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/pulse"
	"google.golang.org/grpc/internal/same"
	"google.golang.org/grpc/internal/sockopt"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/trace"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"
)

const (
	// MinClientPingInterval is the least keepalive time of a client: smaller ones count as this (gRFC A8).
	MinClientPingInterval = 10 * time.Second

	infinity = time.Duration(math.MaxInt64)

	minWindow         = 64 << 10  // smaller windows asked for are ignored
	maxFrame          = 256 << 10 // that the peer may send, see h2.Config.MaxFrame
	smallHeaderList   = 8 << 10
	defaultReadBuffer = 32 << 10
	// MinServerPingInterval is the least keepalive time of a server: smaller ones count as this.
	MinServerPingInterval = time.Second
)

// Tuning is what both sides can set. Zero values stand for the defaults.
type Tuning struct {
	// InitialWindow and InitialConnWindow are receive windows in bytes, from
	// 64 KiB up; smaller values are ignored. Static ones never change.
	InitialWindow     int32
	InitialConnWindow int32
	StaticWindow      bool
	ReadBufferSize    int // bytes; 32 KiB by default
	WriteBufferSize   int // bytes; 256 KiB to 1 MiB
	MaxHeaderListSize *uint32
	MaxBytesHeld      int64 // see h2.Config; 0: what the environment says
	BufferPool        mem.BufferPool
	StatsHandlers     []stats.Handler
	Ground            *park.Ground         // what connections stand on; nil: what those of the process share
	Probes            *net.KeepAliveConfig // nil: as the dialer or the listener has set them
}

// DialFunc opens a connection to addr, which is as the resolver gave it. A unix
// socket's address has its scheme in front: "unix:///absolute/path",
// "unix:relative/path", "unix:@name" for an abstract one.
type DialFunc func(ctx context.Context, addr string) (net.Conn, error)

// ClientConfig is what all connections of a channel share. It is not changed
// once the first is made.
type ClientConfig struct {
	Tuning
	// UserAgent is the whole value of the field.
	UserAgent string
	Creds     credentials.TransportCredentials
	Keepalive keepalive.ClientParameters
	// Dial opens a connection to an address; nil dials by the address's network.
	Dial DialFunc
	// FailOnNonTemp changes only the text of dial errors: with that option, the published module's text
	// begins in lower case.
	FailOnNonTemp bool

	h2 h2.Config
}

// ServerConfig is what all connections of a server share.
type ServerConfig struct {
	Tuning
	Creds            credentials.TransportCredentials // nil: no handshake
	HandshakeTimeout time.Duration                    // of credentials and preface; 0: 120 s
	MaxStreams       uint32                           // 0: no limit
	HeaderTableSize  *uint32
	Keepalive        keepalive.ServerParameters
	Policy           keepalive.EnforcementPolicy
	MaxRecvMsgSize   int
	Tap              tap.ServerInHandle
	EndWait          time.Duration // how long a client may read nothing once the handler has returned; 0: for ever
	LaxPath          bool          // accept a :path without a leading slash

	// Known returns the method of a :path, or nil if it does not know the path. Known may be nil.
	Known func(path []byte) Method

	h2 h2.Config
}

// setSocketOptions sets the options of the socket that carries nc. Sent data may stay unacknowledged for
// timeout (gRFC A18). If t.Probes makes the system probe the connection, and the program has not chosen the
// timeout, sent data may stay unacknowledged for as long as all probes take.
func (t *Tuning) setSocketOptions(nc net.Conn, timeout time.Duration, chosen bool) {
	if t.Probes != nil {
		sockopt.SetProbes(nc, *t.Probes)
		if d := sockopt.ProbesEnd(*t.Probes); d > 0 && !chosen {
			timeout = d
		}
	}
	sockopt.SetUserTimeout(nc, timeout)
}

// processTrace is the log of frames that the environment asks for; nil for none.
var processTrace = sync.OnceValue(func() *trace.Log {
	log, err := openTrace(envconfig.HTTP2Trace, envconfig.HTTP2TraceOptions)
	if err != nil {
		logger.Errorf("GRPC_GO_HTTP2_TRACE: %v", err)
	}
	return log
})

func (t *Tuning) fill(c *h2.Config) {
	if t.BufferPool == nil {
		t.BufferPool = mem.DefaultBufferPool()
	}
	c.Pool = t.BufferPool
	c.Pooled = envconfig.HTTPFramerReadBufferPooling
	c.ReadBuffer = t.ReadBufferSize
	if c.ReadBuffer == 0 {
		c.ReadBuffer = defaultReadBuffer
	}
	c.WriteBuffer = t.WriteBufferSize
	if t.InitialWindow >= minWindow {
		c.StreamWindow = uint32(t.InitialWindow)
	}
	if t.InitialConnWindow >= minWindow {
		c.ConnWindow = uint32(t.InitialConnWindow)
	}
	c.StaticWindow = t.StaticWindow
	switch {
	case t.MaxHeaderListSize != nil:
		c.MaxHeaderList, c.NoHeaderList = *t.MaxHeaderListSize, *t.MaxHeaderListSize == 0
	case envconfig.SmallDefaultHeaderList:
		c.MaxHeaderList = smallHeaderList
	}
	c.MaxFrame = maxFrame
	c.MaxHeld = t.MaxBytesHeld
	if c.MaxHeld == 0 {
		c.MaxHeld = int64(envconfig.MaxBytesHeld)
	}
	c.Kinds = kinds
	c.Panics = panicLog{}
	c.Driver = h2.DriverConfig{Ground: t.Ground, Trace: processTrace()}
	ballast.Start(envconfig.BusyHeap)
	if !envconfig.RawSyscalls {
		pulse.Forbid()
	}
	if !envconfig.ReuseGoroutines {
		warm.Forbid()
	}
}

// adopt returns nc. If that is a *tls.Conn of the program's, adopt wraps it so that it can be parked.
func adopt(nc net.Conn) net.Conn {
	return tlsconn.Adopt(nc, tlsconn.Options{Release: envconfig.TLSIdleRelease, Rest: envconfig.TLSIdleCiphers})
}

// Prepare settles the defaults. It is called once, before the first
// connection.
func (c *ClientConfig) Prepare() {
	c.fill(&c.h2)
	if k := c.Keepalive; k.Time > 0 && k.Time != infinity {
		c.h2.Keepalive = h2.Keepalive{
			Interval:       max(k.Time, MinClientPingInterval),
			Timeout:        orDefault(k.Timeout, 20*time.Second),
			WithoutStreams: k.PermitWithoutStream,
		}
	}
}

// SameAs reports whether connections may as well be made with o. Both must be prepared. What can't be
// compared, such as functions, counts as different.
func (c *ClientConfig) SameAs(o *ClientConfig) bool {
	return c.Dial == nil && o.Dial == nil &&
		c.InitialWindow == o.InitialWindow &&
		c.InitialConnWindow == o.InitialConnWindow &&
		c.StaticWindow == o.StaticWindow &&
		c.ReadBufferSize == o.ReadBufferSize &&
		c.WriteBufferSize == o.WriteBufferSize &&
		c.MaxHeaderListSize == o.MaxHeaderListSize &&
		c.MaxBytesHeld == o.MaxBytesHeld &&
		c.Ground == o.Ground &&
		c.Probes == o.Probes &&
		same.Value(c.BufferPool, o.BufferPool) &&
		slices.EqualFunc(c.StatsHandlers, o.StatsHandlers, same.Value) &&
		c.UserAgent == o.UserAgent &&
		same.Value(c.Creds, o.Creds) &&
		c.Keepalive == o.Keepalive &&
		c.FailOnNonTemp == o.FailOnNonTemp &&
		c.h2 == o.h2
}

// Prepare settles the defaults. It is called once, before the first
// connection.
func (c *ServerConfig) Prepare() {
	c.fill(&c.h2)
	c.LaxPath = envconfig.DisableStrictPathChecking
	c.HandshakeTimeout = orDefault(c.HandshakeTimeout, 120*time.Second)
	c.h2.MaxStreams = c.MaxStreams
	c.h2.HeaderTable = c.HeaderTableSize
	c.h2.PrefaceTimeout = c.HandshakeTimeout
	k := &c.Keepalive
	k.MaxConnectionIdle = orDefault(max(k.MaxConnectionIdle, 0), infinity)
	k.MaxConnectionAge = orDefault(max(k.MaxConnectionAge, 0), infinity)
	k.MaxConnectionAgeGrace = orDefault(k.MaxConnectionAgeGrace, infinity)
	k.Time = orDefault(k.Time, 2*time.Hour)
	if k.Time != infinity {
		c.h2.Keepalive = h2.Keepalive{
			Interval:       max(k.Time, MinServerPingInterval),
			Timeout:        orDefault(k.Timeout, 20*time.Second),
			WithoutStreams: true,
		}
	}
	c.h2.TrackIdle = k.MaxConnectionIdle != infinity
	c.Policy.MinTime = orDefault(c.Policy.MinTime, 5*time.Minute)
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
