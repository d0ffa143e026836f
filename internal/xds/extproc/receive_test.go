// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"io"
	"testing"
	"testing/synctest"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// responding makes an RPC that has shown a response message to its external processor, and returns the processor's answer.
func responding(t *testing.T) (*stream, *procv3.ProcessingResponse) {
	t.Helper()
	c := &Config{AllowFailure: true, Mode: Mode{Response: ResponseMode{Messages: true, Trailers: true}}}
	s := onStream(t, c, rpcconfig.RPC{ServerStreams: true}, &ending{after: 100})
	if err := s.showResponse(wrapperspb.String("a")); err != nil {
		t.Fatal(err)
	}
	return s, echoed(s.responseMessageEvent([]byte("a")))
}

// TestAnswerAfterFailure: an answer that is handled while the processor fails, and the RPC goes on without it, is dropped:
// the RPC has the original.
func TestAnswerAfterFailure(t *testing.T) {
	s, answer := responding(t)
	defer s.finish()
	s.fail(io.ErrUnexpectedEOF)
	if err := s.flush(nil); err != nil {
		t.Fatal(err)
	}
	if err := s.take(answer); err != nil {
		t.Error(err)
	}
	if n := len(s.responses.items); n != 1 {
		t.Errorf("the program gets %d messages", n)
	}
}

// late is a stream to an external processor whose Recv returns only when it may, although the stream is over.
type late struct {
	ending
	may chan struct{}
}

func (l *late) Recv() (*procv3.ProcessingResponse, error) {
	<-l.may
	return nil, io.ErrUnexpectedEOF
}

// TestFlushWaits: no original goes ahead of what an answer that is being handled returns.
func TestFlushWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := responding(t)
		defer s.finish()
		st := &late{may: make(chan struct{})}
		released := make(chan struct{})
		s.startReceiving(st, func() { close(released) })
		s.fail(io.ErrUnexpectedEOF)
		flushed := make(chan error, 1)
		go func() { flushed <- s.flush(nil) }()
		synctest.Wait()
		if len(flushed) > 0 || len(s.responses.items) > 0 {
			t.Error("an original goes on while answers are handled")
		}
		close(st.may)
		if err := <-flushed; err != nil || len(s.responses.items) != 1 {
			t.Error(err, len(s.responses.items))
		}
		<-released
	})
}
