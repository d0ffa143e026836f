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
	"google.golang.org/grpc/resolver"
)

// The metrics of subchannels (gRFC A94). None is on unless a program asks for it.
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

// The values of grpc.disconnect_error, beside "GOAWAY " and a code.
const (
	shutDown = "subchannel shutdown"
	unknown  = "unknown"
)

// reasonOf is the value for a connection that ended with err. Only what the system says is a
// socket error: what the program's own connections return has no number.
func reasonOf(err error) string {
	var number syscall.Errno
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "connection timed out"
	case errors.Is(err, syscall.ECONNABORTED):
		return "connection aborted"
	case errors.Is(err, context.Canceled):
		return shutDown
	case errors.As(err, &number):
		return "socket error"
	}
	return unknown
}

// leave notes why the connection is lost, if that is not known yet.
func (l *Link) leave(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == "" {
		l.reason = reason
	}
}

// opened counts a connection that came up.
func (l *Link) opened() {
	ch, labels := l.sub.ch, backendlabel.Of(*l.addr)
	attemptsSucceeded.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality)
	openConnections.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, l.security(), labels.Locality)
}

// failedToConnect counts an attempt to connect to one of the addresses.
func (ch *Channel) failedToConnect(addrs []resolver.Address) {
	var labels backendlabel.Labels
	if len(addrs) > 0 {
		labels = backendlabel.Of(addrs[0])
	}
	attemptsFailed.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality)
}

// gone counts one that its subchannel has lost.
func (l *Link) gone(ch *Channel) {
	l.mu.Lock()
	reason := l.reason
	l.mu.Unlock()
	if reason == "" {
		reason = unknown
	}
	labels := backendlabel.Of(*l.addr)
	disconnections.Record(ch.opts.Recorders, 1, ch.Name, labels.BackendService, labels.Locality, reason)
	openConnections.Record(ch.opts.Recorders, -1, ch.Name, labels.BackendService, l.security(), labels.Locality)
}

// security is the level of the connection, as its credentials have it.
func (l *Link) security() string {
	if info, ok := l.client.AuthInfo().(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		return info.GetCommonAuthInfo().SecurityLevel.String()
	}
	return credentials.InvalidSecurityLevel.String()
}
