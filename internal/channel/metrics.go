// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"os"
	"syscall"

	"google.golang.org/grpc/credentials"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
)

// These are the metrics of subchannels (gRFC A94). Each is off unless a program turns it on.
var (
	disconnections = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.subchannel.disconnections",
		Description:    "EXPERIMENTAL. Number of times the selected subchannel becomes disconnected.",
		Unit:           "{disconnection}",
		Labels:         []string{"grpc.target"},
		OptionalLabels: []string{"grpc.lb.backend_service", "grpc.lb.locality", "grpc.disconnect_error"},
	})
	attemptsSucceeded = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.subchannel.connection_attempts_succeeded",
		Description:    "EXPERIMENTAL. Number of successful connection attempts.",
		Unit:           "{attempt}",
		Labels:         []string{"grpc.target"},
		OptionalLabels: []string{"grpc.lb.backend_service", "grpc.lb.locality"},
	})
	attemptsFailed = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.subchannel.connection_attempts_failed",
		Description:    "EXPERIMENTAL. Number of failed connection attempts.",
		Unit:           "{attempt}",
		Labels:         []string{"grpc.target"},
		OptionalLabels: []string{"grpc.lb.backend_service", "grpc.lb.locality"},
	})
	openConnections = estats.RegisterInt64UpDownCount(estats.MetricDescriptor{
		Name:           "grpc.subchannel.open_connections",
		Description:    "EXPERIMENTAL. Number of open connections.",
		Unit:           "{attempt}", // as the published module has it; A94 says {connection}
		Labels:         []string{"grpc.target"},
		OptionalLabels: []string{"grpc.lb.backend_service", "grpc.security_level", "grpc.lb.locality"},
	})
)

// These are values of grpc.disconnect_error. Others are in reasonOf; after a GOAWAY the value is
// "GOAWAY " and its code.
const (
	shutDown = "subchannel shutdown"
	unknown  = "unknown"
)

// These are the numbers that sockets of Windows return. Those of package syscall are its own there.
const (
	wsaConnAborted = syscall.Errno(10053)
	wsaConnReset   = syscall.Errno(10054)
	wsaTimedOut    = syscall.Errno(10060)
)

// reasonOf returns the value for a connection that ended with err. Only an error number of the
// operating system counts as a socket error, so an error of a net.Conn that the program wrote is
// "unknown".
func reasonOf(err error) string {
	var number syscall.Errno
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, wsaConnReset):
		return "connection reset"
	case errors.Is(err, transport.ErrNotAlive), errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, wsaTimedOut), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "connection timed out"
	case errors.Is(err, syscall.ECONNABORTED), errors.Is(err, wsaConnAborted):
		return "connection aborted"
	case errors.Is(err, context.Canceled):
		return shutDown
	case errors.As(err, &number):
		return "socket error"
	}
	return unknown
}

// reasonOfGoAway returns the value after a GOAWAY. Codes that RFC 9113 does not have are one value: each would make a
// time series of its own, and the server chooses them.
func reasonOfGoAway(why transport.GoAway) string {
	if !why.IsKnown() {
		return "GOAWAY unknown"
	}
	return "GOAWAY " + why.Code()
}

// leave records why the connection is lost, unless a reason is known already.
func (l *Link) leave(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == "" {
		l.reason = reason
	}
}

// count counts an attempt to connect to addrs that has ended, and l, the connection that was made, unless it is nil.
// Like all that calls recorders, which are the program's, it is called without a lock, and before the subchannel takes
// on the state that follows.
func (sub *Subchannel) count(l *Link, addrs []resolver.Address) {
	if l == nil {
		sub.ch.failedToConnect(addrs)
		return
	}
	l.opened()
	if l.isUnfit() {
		l.gone()
	}
}

// opened counts the connection, which has just been made.
func (l *Link) opened() {
	defer l.counted.Store(true) // last: a loss meanwhile is counted after it, by count
	ch, labels := l.sub.ch, backendlabel.Of(*l.addr)
	attemptsSucceeded.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality)
	openConnections.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, l.security(), labels.Locality)
}

// failedToConnect counts a failed attempt to connect to any of addrs. The labels are those of the
// first.
func (ch *Channel) failedToConnect(addrs []resolver.Address) {
	var labels backendlabel.Labels
	if len(addrs) > 0 {
		labels = backendlabel.Of(addrs[0])
	}
	attemptsFailed.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality)
}

// gone counts the connection as lost by its subchannel, unless it is counted already. The reason is the first that
// became known.
func (l *Link) gone() {
	if !l.counted.Swap(false) {
		return
	}
	l.leave(unknown)
	l.mu.Lock()
	reason := l.reason
	l.mu.Unlock()
	ch, labels := l.sub.ch, backendlabel.Of(*l.addr)
	disconnections.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality, reason)
	openConnections.Record(ch.opts.Recorders, -1, ch.Name, labels.BackendService, l.security(), labels.Locality)
}

// retireApart retires links, and calls then after that, unless it is nil. It does so on a goroutine of its own if there
// are recorders: its callers are in a call of the balancer, or hold idle.mu, for which Close waits, and a recorder may
// call Close.
func (ch *Channel) retireApart(links []*Link, then func()) {
	retire := func() {
		if then != nil {
			defer then()
		}
		retireAll(links)
	}
	if len(links) > 0 && ch.opts.Recorders.Any() {
		go retire()
		return
	}
	retire()
}

// retireAll retires links, all of them also if recorders leave by a panic or end the goroutine.
func retireAll(links []*Link) {
	if len(links) > 0 {
		defer retireAll(links[1:])
		links[0].retire()
	}
}

// retire counts the connection as lost because its subchannel has no use for it, and closes it gracefully.
func (l *Link) retire() {
	defer l.client.GracefulClose() // also if a recorder panics
	l.leave(shutDown)
	l.gone()
}

// security returns the connection's security level, as its credentials report it. The names are those of the published
// module; A94 has others.
func (l *Link) security() string {
	if info, ok := l.client.AuthInfo().(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		return info.GetCommonAuthInfo().SecurityLevel.String()
	}
	return credentials.InvalidSecurityLevel.String()
}
