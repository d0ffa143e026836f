// SPDX-License-Identifier: Apache-2.0

// Package binarylog lets a program log its RPCs with their metadata and messages
// (gRFC A16). The environment variable GRPC_BINARY_LOG_FILTER says what is logged, for
// example
//
//	GRPC_BINARY_LOG_FILTER='package.Service/*{h:512;m:256},-package.Service/Secret'
//
// SetSink says where entries are written. Without a sink nothing is logged.
//
// Experimental: this API may change in a later release.
package binarylog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/protobuf/proto"
)

var logger = grpclog.Component("binarylog")

// Sink receives the log's entries. Its methods must be safe for concurrent use.
type Sink interface {
	// Write writes an entry, which it may keep. The RPC waits for Write. Errors are logged
	// with package grpclog.
	Write(entry *pb.GrpcLogEntry) error
	// Close is called when another sink replaces this one. RPCs that began before may still call Write
	// then, and at the same time.
	Close() error
}

// SetSink sets the sink to which entries are written, and closes the sink that was set
// before. With a nil sink nothing is logged. Call it before RPCs begin: an RPC keeps the
// sink that it began with.
func SetSink(s Sink) {
	var to binarylog.Sink
	if s != nil {
		to = s
	}
	if before := binarylog.SetSink(to); before != nil {
		if err := before.Close(); err != nil {
			logger.Warningf("closing the sink that was replaced: %v", err)
		}
	}
}

// NewTempFileSink returns a Sink that writes to a new file, grpcgo_binarylog_*.txt in the
// directory for temporary files. The file has entries in protobuf's encoding, each preceded
// by its length in 4 bytes, big endian. The file is complete after Close. Before that,
// entries of the last second may be missing.
func NewTempFileSink() (Sink, error) {
	f, err := os.CreateTemp("", "grpcgo_binarylog_*.txt")
	if err != nil {
		return nil, err
	}
	return newFileSink(f), nil
}

const (
	fileBuffer = 64 << 10    // the size of the buffer, in bytes
	fileDelay  = time.Second // how long an entry may stay in the buffer
)

var errClosed = errors.New("binarylog: the sink is closed")

type fileSink struct {
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer // after an error, its methods return that error
	flush   *time.Timer   // runs while flushes is true
	flushes bool
	closed  bool
}

func newFileSink(f *os.File) *fileSink {
	s := &fileSink{file: f, out: bufio.NewWriterSize(f, fileBuffer)}
	s.flush = time.AfterFunc(time.Hour, s.onTimer)
	s.flush.Stop()
	return s
}

func (s *fileSink) Write(entry *pb.GrpcLogEntry) error {
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 4, 256), entry)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	if !s.flushes {
		s.flushes = true
		s.flush.Reset(fileDelay)
	}
	_, err = s.out.Write(b)
	return err
}

func (s *fileSink) onTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes = false
	if !s.closed {
		s.out.Flush() // the next Write returns the error
	}
}

func (s *fileSink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.flush.Stop()
	return errors.Join(s.out.Flush(), s.file.Close())
}
