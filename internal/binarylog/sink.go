// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"sync/atomic"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("binarylog")

// Sink receives entries. Package binarylog of this module documents its methods.
type Sink interface {
	Write(*pb.GrpcLogEntry) error
	Close() error
}

var current atomic.Pointer[Sink]

// SetSink sets the sink for all entries, and returns the one that was set before. With a nil
// sink nothing is logged.
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
