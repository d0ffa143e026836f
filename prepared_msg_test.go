// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/testutils"
)

// TestEmptyPreparedMsgIsLogged: the log has an empty message that was prepared as one that was not.
func TestEmptyPreparedMsgIsLogged(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := &serverSink{ended: make(chan struct{}, 1)}
	binarylog.SetSink(sink)
	defer binarylog.SetSink(nil)
	e := newEcho()
	e.stream = func(s ServerStream) error {
		p := new(PreparedMsg)
		if err := p.Encode(s, new(text)); err != nil {
			return err
		}
		if err := s.SendMsg(p); err != nil {
			return err
		}
		return s.SendMsg(new(text))
	}
	wantCode(t, "stream", downCall(testContext(t), newTestClient(t, serve(t, e).addr)), codes.OK)
	entries, types := sink.take(t)
	messages := 0
	for _, e := range entries {
		if m := e.GetMessage(); m != nil {
			messages++
			if m.Data == nil {
				t.Errorf("an empty message is nil in %s", types)
			}
		}
	}
	if messages != 2 {
		t.Errorf("%d messages in %s", messages, types)
	}
}
