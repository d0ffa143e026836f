// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

var errRestart = status.Error(codes.Unavailable, "come again")

// untilDrain sends one message, and waits for the drain.
func untilDrain(st testservice.Duplex) error {
	if drain.Done(st.Context()) == nil {
		return errors.New("nobody would tell of a drain")
	}
	select {
	case <-drain.Done(st.Context()):
		return errors.New("it drains already")
	default:
	}
	if err := st.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	select {
	case <-drain.Done(st.Context()):
		<-drain.Done(context.WithValue(st.Context(), derivedKey{}, 1)) // from now on it is known
		return errRestart
	case <-st.Context().Done():
		return errors.New("the RPC ended first")
	}
}

// derivedKey is that of a value in a context that derives from the RPC's.
type derivedKey struct{}

func ends(t *testing.T, st testservice.DuplexClient, code codes.Code, text string) {
	t.Helper()
	if _, err := st.Recv(); status.Code(err) != code || status.Convert(err).Message() != text {
		t.Errorf("the stream ended with %v, want %v %q", err, code, text)
	}
}

// A handler, and its client, learn of GracefulStop, which waits for the stream.
func TestWishHandlerLearnsOfDrain(t *testing.T) {
	for _, name := range []string{"tcp", "bufconn", "net/http"} {
		t.Run(name, func(t *testing.T) {
			f := &testservice.Functions{Stream: untilDrain}
			var s *testservice.Service
			var opts []grpc.DialOption
			switch name {
			case "tcp":
				s = testservice.Start(t, f)
			case "bufconn":
				lis := bufconn.Listen(1 << 16)
				s = testservice.StartOn(t, lis, f)
				opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
			default:
				s = testservice.StartHTTP(t, f)
			}
			_, client := s.Dial(t, opts...)
			st := testservice.Begin(t, client)
			told := drain.Client(st)
			s.GracefulStop()
			ends(t, st, codes.Unavailable, "come again")
			if name != "net/http" { // which says no GOAWAY
				testservice.Await(t, told, "GOAWAY")
			}
		})
	}
}

// A connection that is too old drains, and its handlers learn of it; RPCs that begin while it
// drains know from the start.
func TestWishHandlerLearnsOfAge(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{Stream: untilDrain},
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 50 * time.Millisecond}))
	_, client := s.Dial(t)
	st := testservice.Begin(t, client)
	ends(t, st, codes.Unavailable, "come again")
}

// Stop is no drain: the context ends, and nothing else is told.
func TestWishStopIsNoDrain(t *testing.T) {
	result, drains := make(chan bool, 1), make(chan (<-chan struct{}), 1)
	ends := make(testservice.ConnEnds, 1)
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		called := make(chan struct{})
		drain.AfterFunc(st.Context(), func() { close(called) })
		drains <- drain.Done(st.Context())
		_ = st.Send(&testpb.StreamingOutputCallResponse{})
		<-st.Context().Done()
		select {
		case <-called:
			result <- true
		case <-drain.Done(st.Context()):
			result <- true
		default:
			result <- false
		}
		return nil
	}}, grpc.WaitForHandlers(true), grpc.StatsHandler(ends))
	_, client := s.Dial(t)
	testservice.Begin(t, client)
	s.Stop()
	if testservice.Await(t, result, "the handler's end") {
		t.Error("Stop was told as a drain")
	}
	testservice.Await(t, ends, "the connection's end")
	select {
	case <-<-drains:
		t.Error("the end of the connection was told as a drain")
	default:
	}
}

// Streams without a goroutine say goodbye, and one that is over is told nothing.
func TestWishHandedStreamLearnsOfDrain(t *testing.T) {
	type server = streams.Server[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
	calls := &streams.ServerCallbacks[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]{
		OnHalfClose: func(s *server) { _ = s.Finish(nil) },
	}
	told, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		w, err := streams.Bidi(st, calls, nil)
		if err != nil {
			return err
		}
		context.AfterFunc(w.Context(), func() { ended <- struct{}{} })
		drain.AfterFunc(w.Context(), func() {
			told <- struct{}{}
			_ = w.Send(&testpb.StreamingOutputCallResponse{})
			_ = w.Finish(errRestart)
		})
		return w.Send(&testpb.StreamingOutputCallResponse{})
	}})
	_, client := s.Dial(t)
	over, st := testservice.Begin(t, client), testservice.Begin(t, client)
	if err := over.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := over.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	testservice.Await(t, ended, "the end of the first stream's context")
	s.GracefulStop()
	if _, err := st.Recv(); err != nil {
		t.Errorf("the last message did not come: %v", err)
	}
	ends(t, st, codes.Unavailable, "come again")
	if len(told) != 1 {
		t.Errorf("%d streams were told, want 1", len(told))
	}
}

// A context that is no handler's has no drain; nor has a client's stream that of the handler
// whose context it has.
func TestNoDrain(t *testing.T) {
	if drain.Done(context.Background()) != nil || drain.AfterFunc(context.Background(), func() {})() {
		t.Error("a context of nobody's drains")
	}
	back := testservice.Start(t, &testservice.Functions{Stream: untilDrain})
	_, client := back.Dial(t)
	result := make(chan error, 1)
	front := testservice.Start(t, &testservice.Functions{Empty: func(ctx context.Context) error {
		st, err := client.FullDuplexCall(ctx)
		if err == nil && drain.Client(st) == drain.Done(ctx) {
			err = errors.New("the handler's own connection is taken for the client's")
		}
		result <- err
		return nil
	}})
	_, client2 := front.Dial(t)
	if _, err := client2.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}
