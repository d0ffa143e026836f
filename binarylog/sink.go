// SPDX-License-Identifier: Apache-2.0

// Package binarylog lets a program keep a log of its RPCs with their metadata and
// messages (gRFC A16). What is logged is said by the environment variable
// GRPC_BINARY_LOG_FILTER, for example
//
//	GRPC_BINARY_LOG_FILTER='package.Service/*{h:512;m:256},-package.Service/Secret'
//
// and where it goes by SetSink; without a sink nothing is logged.
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

// Sink takes the entries. It must be safe for concurrent use.
type Sink interface {
	// Write takes an entry, which it may keep. An error is logged. RPCs wait for it.
	Write(entry *pb.GrpcLogEntry) error
	// Close ends the sink when another one takes its place.
	Close() error
}

// SetSink sets where entries go, and closes the sink that was set before. nil means
// nowhere. Call it before gRPC is used: RPCs keep the sink that they began with.
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
// directory for temporary files. The file holds entries in protobuf's encoding, each after
// its length in 4 bytes, big endian. It is complete after Close; until then the last second
// may be missing.
func NewTempFileSink() (Sink, error) {
	f, err := os.CreateTemp("", "grpcgo_binarylog_*.txt")
	if err != nil {
		return nil, err
	}
	return newFileSink(f), nil
}

const (
	fileBuffer = 64 << 10    // bytes
	fileDelay  = time.Second // how long an entry may stay in the buffer
)

var errClosed = errors.New("binarylog: the sink is closed")

type fileSink struct {
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer // keeps the first error
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
