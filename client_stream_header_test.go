// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
)

// TestHeaderEndsTheRPC: if the RPC has ended without headers, with success too, Header ends it for the client, who need not call
// RecvMsg to have it forgotten.
func TestHeaderEndsTheRPC(t *testing.T) {
	e := newEcho()
	e.stream = func(ServerStream) error { return nil }
	cc := newTestClient(t, serve(t, e).addr)
	for name, tt := range map[string]struct {
		desc StreamDesc
		want codes.Code
	}{
		"many replies": {StreamDesc{ServerStreams: true, ClientStreams: true}, codes.OK},
		"one reply":    {StreamDesc{ClientStreams: true}, codes.Internal},
	} {
		finished := make(chan error, 1)
		st, err := cc.NewStream(testContext(t), &tt.desc, bidiMethod, OnFinish(func(err error) { finished <- err }))
		if err != nil {
			t.Fatal(err)
		}
		if md, err := st.Header(); md != nil || err != nil {
			t.Errorf("%s: headers %v, %v", name, md, err)
		}
		wantCode(t, name, within(t, finished, "OnFinish"), tt.want)
		switch err := st.RecvMsg(new(text)); {
		case tt.want == codes.OK && !errors.Is(err, io.EOF):
			t.Errorf("%s: RecvMsg: %v", name, err)
		case tt.want != codes.OK:
			wantCode(t, name, err, tt.want)
		}
	}
}
