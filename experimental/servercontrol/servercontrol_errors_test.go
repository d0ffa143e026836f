// SPDX-License-Identifier: Apache-2.0

package servercontrol_test

import (
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// The round trip and the last error of a connection are in its Status.
func TestStatusTellsTheLastError(t *testing.T) {
	var c servercontrol.Control
	ends := make(testservice.ConnEnds, 1)
	s := testservice.Start(t, &testservice.Functions{}, c.Option(), grpc.StatsHandler(ends))
	raw := testservice.DialRaw(t, s.Addr)
	raw.Until(testservice.FrameSettings)
	conn := c.Conns()[0]
	if st := conn.Status(); st.LastError != "" || !st.LastErrorAt.IsZero() || runtime.GOOS == "linux" && st.RoundTrip <= 0 {
		t.Errorf("a new connection is %+v", st)
	}

	raw.Frame(testservice.FrameHeaders, 5, 1, []byte{0x82}) // a request without a path
	raw.Until(testservice.FrameRSTStream)
	if st := conn.Status(); !strings.Contains(st.LastError, "PROTOCOL_ERROR") || st.LastErrorAt.IsZero() {
		t.Errorf("after a malformed request: %+v", st)
	}
	raw.Frame(testservice.FrameRSTStream, 0, 0, []byte{0, 0, 0, 0}) // of no stream: it ends the connection
	raw.Until(testservice.FrameGoAway)
	testservice.Await(t, ends, "the end of the connection")
	if st := conn.Status(); !strings.Contains(st.LastError, "PROTOCOL_ERROR") || st.RoundTrip != 0 {
		t.Errorf("after the end: %+v", st)
	}
}

// A client's reset with an error is one; that it has cancelled is none.
func TestCancellationsAreNoErrors(t *testing.T) {
	const cancelled, internal = 8, 2
	for code, want := range map[byte]string{cancelled: "", internal: "INTERNAL_ERROR"} {
		var c servercontrol.Control
		begun, over := make(chan struct{}, 1), make(chan struct{}, 1)
		s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
			begun <- struct{}{}
			<-st.Context().Done()
			over <- struct{}{}
			return nil
		}}, c.Option())
		raw := testservice.DialRaw(t, s.Addr)
		raw.Begin(1, streamMethod)
		testservice.Await(t, begun, "the handler")
		raw.Frame(testservice.FrameRSTStream, 0, 1, []byte{0, 0, 0, code})
		testservice.Await(t, over, "the end of the RPC")
		if st := c.Conns()[0].Status(); (st.LastError == "") != (want == "") || !strings.Contains(st.LastError, want) {
			t.Errorf("after a reset with code %d: %q", code, st.LastError)
		}
	}
}

// Connections that were lost are remembered, up to a number, and those that were closed are not.
func TestLost(t *testing.T) {
	var c servercontrol.Control
	ends := make(testservice.ConnEnds, 1)
	s := testservice.Start(t, &testservice.Functions{}, c.Option(), grpc.StatsHandler(ends))
	cc, client := s.Dial(t)
	if _, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	cc.Close()
	testservice.Await(t, ends, "the end of a connection that was closed")
	if lost := c.Lost(); len(lost) > 0 {
		t.Errorf("%v were lost", lost)
	}
	var last string
	for range 20 {
		raw := testservice.DialRaw(t, s.Addr)
		raw.Until(testservice.FrameSettings)
		last = raw.LocalAddr().String()
		_ = raw.SetLinger(0) // of an open socket
		raw.Close()
		testservice.Await(t, ends, "the end of a connection that was reset")
	}
	lost := c.Lost()
	if len(lost) != 16 {
		t.Fatalf("%d connections are remembered", len(lost))
	}
	for _, l := range lost {
		if l.ID == 0 || l.Ended.Before(l.Began) || !strings.Contains(l.Err.Error(), "connection reset") {
			t.Errorf("%+v was lost", l)
		}
	}
	if got := lost[15].Addr.String(); got != last {
		t.Errorf("the last one was %s, want %s", got, last)
	}
}
