// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// maxQuoted is how many bytes are quoted of a body that is not of gRPC.
const maxQuoted = 1024

// foreignReceiver receives the answer of something that is not a gRPC server, such as a proxy. verdict is
// the status that the answer stands for. The beginning of the body, which tells people why, is added to it.
// Only the connection's reader uses a foreignReceiver.
type foreignReceiver struct {
	stream  *ClientStream
	verdict *status.Status
	body    []byte
}

var _ h2.Receiver = (*foreignReceiver)(nil)

// OnHeaders implements h2.Receiver.
func (f *foreignReceiver) OnHeaders(b *h2.HeaderBlock, end bool) error {
	resp, err := parseResponse(b, end)
	if err == nil {
		err = resp.malformed()
	}
	if err != nil {
		return err
	}
	switch {
	case !end && !resp.informational():
		return malformed("field block in the middle of a body")
	case !end:
		return nil
	case resp.informational():
		return malformed("a response ends with informational headers")
	}
	return f.OnEnd()
}

// Take implements h2.Receiver.
func (f *foreignReceiver) Take(p []byte, _, _ int) (grew int, err error) {
	return f.Filled(copy(f.Space(len(p), 0), p))
}

// Space implements h2.Receiver.
func (f *foreignReceiver) Space(n, _ int) []byte {
	if f.body == nil && n > 0 {
		f.body = make([]byte, 0, maxQuoted)
	}
	if f.full() {
		return make([]byte, min(n, maxQuoted)) // thrown away: enough was kept, and Filled ends the stream
	}
	return f.body[len(f.body):cap(f.body)][:min(n, cap(f.body)-len(f.body))]
}

// Filled implements h2.Receiver.
func (f *foreignReceiver) Filled(n int) (grew int, err error) {
	if len(f.body) == 0 && n > 0 {
		grew = cap(f.body)
	}
	if !f.full() {
		f.body = f.body[:len(f.body)+n]
	}
	if !f.full() {
		return grew, nil
	}
	f.end(f.status(), lostMaybeSeen)
	return 0, frame.Error{Code: frame.Cancel, Reason: "not a gRPC response"}
}

// OnEnd implements h2.Receiver.
func (f *foreignReceiver) OnEnd() error {
	f.end(f.status(), notLost)
	return nil
}

// OnAbort implements h2.Receiver.
func (f *foreignReceiver) OnAbort(err *h2.StreamError) {
	st := f.status()
	if !err.Remote {
		st = f.stream.abortStatus(err)
	}
	f.end(st, lostMaybeSeen) // whoever answers has processed the request, also if it resets the stream as refused
}

func (f *foreignReceiver) end(st *status.Status, lost lostKind) {
	f.stream.mu.Lock()
	defer f.stream.mu.Unlock()
	f.stream.endLocked(nil, st, lost)
}

func (f *foreignReceiver) full() bool { return len(f.body) == maxQuoted }

func (f *foreignReceiver) status() *status.Status {
	if len(f.body) == 0 {
		return f.verdict
	}
	return status.New(f.verdict.Code(), fmt.Sprintf("%s\ndata: %q", f.verdict.Message(), f.body))
}
