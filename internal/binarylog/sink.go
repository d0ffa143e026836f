// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"sync/atomic"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("binarylog")

// Sink takes entries.
type Sink interface {
	Write(*pb.GrpcLogEntry) error
	Close() error
}

var current atomic.Pointer[Sink]

// SetSink sets where all entries go, nil for nowhere, and returns what was set before.
func SetSink(s Sink) (before Sink) {
	var p *Sink
	if s != nil {
		p = &s
	}
	if old := current.Swap(p); old != nil {
		before = *old
	}
	return before
}

func sink() Sink {
	if p := current.Load(); p != nil {
		return *p
	}
	return nil
}
