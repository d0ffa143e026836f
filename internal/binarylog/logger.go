// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"context"
	"sync/atomic"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Logger says how RPCs are logged. A channel or server may have a Logger in addition to the
// environment's filter. Only another module that uses package internal can set it. That module
// requires the names of this file's exported declarations; see internal/siblings.go.
type Logger interface {
	// GetMethodLogger is called with "/package.Service/Method" when an RPC begins. It
	// returns the logger of that RPC, or nil if the RPC is not logged.
	GetMethodLogger(methodName string) MethodLogger
}

// MethodLogger logs an RPC.
type MethodLogger interface {
	// Log logs an entry. It is called for one entry of an RPC at a time, with the context of
	// the RPC. It must not keep the entry, but may keep what Build returns for it.
	Log(context.Context, LogEntryConfig)
}

// LogEntryConfig is an entry before it is cut to the limits. TruncatingMethodLogger.Build makes
// a GrpcLogEntry of it.
type LogEntryConfig interface {
	uncut() *entry
}

// entry is the implementation of LogEntryConfig.
type entry struct {
	whole    *pb.GrpcLogEntry // without its metadata
	metadata []field
}

func (e *entry) uncut() *entry { return e }

// TruncatingMethodLogger is a MethodLogger that cuts metadata and messages. It is safe for
// concurrent use.
type TruncatingMethodLogger struct {
	// Immutable.
	limits Limits
	id     uint64
	sink   Sink // if it is nil, nothing is written

	sequence atomic.Uint64
}

var lastCall atomic.Uint64

// NewTruncatingMethodLogger returns a TruncatingMethodLogger for an RPC that begins, and
// numbers the RPC. The logger keeps h bytes of the metadata, and m bytes of each message.
func NewTruncatingMethodLogger(h, m uint64) *TruncatingMethodLogger {
	return newMethodLogger(Limits{Header: h, Message: m}, sink())
}

func newMethodLogger(l Limits, to Sink) *TruncatingMethodLogger {
	return &TruncatingMethodLogger{limits: l, id: lastCall.Add(1), sink: to}
}

// Log implements MethodLogger. It writes the entry to the sink that was set when the RPC
// began.
func (t *TruncatingMethodLogger) Log(_ context.Context, c LogEntryConfig) {
	if t.sink == nil {
		return
	}
	if err := t.sink.Write(t.Build(c)); err != nil {
		logger.Warningf("an entry is lost: %v", err)
	}
}

// Build returns the entry, cut to the limits, with its number and the time. The caller may
// keep it.
func (t *TruncatingMethodLogger) Build(c LogEntryConfig) *pb.GrpcLogEntry {
	uncut := c.uncut()
	whole := uncut.whole
	e := &pb.GrpcLogEntry{
		Timestamp:            timestamppb.Now(),
		CallId:               t.id,
		SequenceIdWithinCall: t.sequence.Add(1),
		Type:                 whole.Type,
		Logger:               whole.Logger,
		Payload:              whole.Payload,
		Peer:                 whole.Peer,
	}
	switch p := whole.Payload.(type) {
	case *pb.GrpcLogEntry_ClientHeader:
		h := &pb.ClientHeader{MethodName: p.ClientHeader.MethodName, Authority: p.ClientHeader.Authority, Timeout: p.ClientHeader.Timeout}
		h.Metadata, e.PayloadTruncated = t.limits.metadata(uncut.metadata)
		e.Payload = &pb.GrpcLogEntry_ClientHeader{ClientHeader: h}
	case *pb.GrpcLogEntry_ServerHeader:
		h := &pb.ServerHeader{}
		h.Metadata, e.PayloadTruncated = t.limits.metadata(uncut.metadata)
		e.Payload = &pb.GrpcLogEntry_ServerHeader{ServerHeader: h}
	case *pb.GrpcLogEntry_Trailer:
		out := &pb.Trailer{StatusCode: p.Trailer.StatusCode, StatusMessage: p.Trailer.StatusMessage, StatusDetails: p.Trailer.StatusDetails}
		out.Metadata, e.PayloadTruncated = t.limits.metadata(uncut.metadata)
		e.Payload = &pb.GrpcLogEntry_Trailer{Trailer: out}
	case *pb.GrpcLogEntry_Message:
		out := &pb.Message{Length: p.Message.Length}
		out.Data, e.PayloadTruncated = t.limits.message(p.Message.Data)
		e.Payload = &pb.GrpcLogEntry_Message{Message: out}
	}
	return e
}

// message returns a copy of the part of a message that is kept. It returns nil only for nil.
func (l Limits) message(b []byte) (kept []byte, truncated bool) {
	if b == nil {
		return nil, false
	}
	n := min(uint64(len(b)), l.Message)
	return append([]byte{}, b[:n]...), n < uint64(len(b))
}

// metadata returns the fields that are kept. It leaves out a field that does not fit, but
// keeps later ones that do.
func (l Limits) metadata(fields []field) (kept *pb.Metadata, truncated bool) {
	kept = &pb.Metadata{}
	left := l.Header
	for _, f := range fields {
		size := uint64(len(f.key) + len(f.value))
		switch {
		case f.key == traceKey:
		case size > left:
			truncated = true
			continue
		default:
			left -= size
		}
		kept.Entry = append(kept.Entry, &pb.MetadataEntry{Key: f.key, Value: []byte(f.value)})
	}
	return kept, truncated
}

// traceKey is the key of a field that is always logged and not counted.
const traceKey = "grpc-trace-bin"
