// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
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

// TestPreparedMsgForALog: a message that was encoded for an RPC that is not logged is in the log of one that is.
func TestPreparedMsgForALog(t *testing.T) {
	whole := compressorFrom(NewGZIPCompressor())
	for name, c := range map[string]encoding.Compressor{"plain": nil, "gzip": encoding.GetCompressor("gzip"), "a Compressor": whole} {
		w := testWriter(c)
		for _, value := range []string{"", "value"} {
			p := new(PreparedMsg)
			if err := p.encodeBy(w, &text{Value: value}); err != nil {
				t.Fatal(err)
			}
			logged := *w
			logged.keep = true
			want, err := logged.write(&text{Value: value})
			if err != nil {
				t.Fatal(err)
			}
			got, err := logged.write(p)
			if err != nil || got.plain == nil || !bytes.Equal(got.plain, want.plain) {
				t.Errorf("%s: %q, want %q, %v", name, got.plain, want.plain, err)
			}
			want.payload.Data.Free()
			logged.compressor = nil // a mistake of the program, which the peer refuses
			if _, err := logged.write(p); err != nil {
				t.Error(err)
			}
		}
	}
}
