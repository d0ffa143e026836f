// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// read returns the numbers of the calls in a file.
func read(t *testing.T, path string) (ids []uint64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := binary.BigEndian.Uint32(b)
		e := &pb.GrpcLogEntry{}
		if err := proto.Unmarshal(b[4:4+n], e); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.CallId)
		b = b[4+n:]
	}
	return ids
}

func TestTempFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		s, err := NewTempFileSink()
		if err != nil {
			t.Fatal(err)
		}
		path := s.(*fileSink).file.Name()
		defer os.Remove(path)
		if base := filepath.Base(path); !strings.HasPrefix(base, "grpcgo_binarylog_") || !strings.HasSuffix(base, ".txt") {
			t.Errorf("%q", base)
		}
		for round := range uint64(2) {
			if err := s.Write(&pb.GrpcLogEntry{CallId: round + 1}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(fileDelay)
			synctest.Wait()
			if ids := read(t, path); len(ids) != int(round+1) || ids[round] != round+1 {
				t.Errorf("after a second: %v", ids)
			}
		}
		if err := s.Write(&pb.GrpcLogEntry{CallId: 3}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if ids := read(t, path); len(ids) != 3 {
			t.Errorf("after Close: %v", ids)
		}
		if err := s.Write(&pb.GrpcLogEntry{}); err != errClosed {
			t.Errorf("write after Close: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

type closing struct{ closed int }

func (c *closing) Write(*pb.GrpcLogEntry) error { return nil }
func (c *closing) Close() error {
	c.closed++
	return nil
}

func TestSetSink(t *testing.T) {
	a, b := &closing{}, &closing{}
	SetSink(a)
	SetSink(b)
	SetSink(nil)
	SetSink(nil)
	if a.closed != 1 || b.closed != 1 {
		t.Errorf("closed %d and %d times", a.closed, b.closed)
	}
}
