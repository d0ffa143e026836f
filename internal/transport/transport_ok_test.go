// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// TestOK: an OK is an OK, whatever the server says with it.
func TestOK(t *testing.T) {
	for name, trailers := range map[string][]string{
		"plain":           {"grpc-status", "0"},
		"with a message":  {"grpc-status", "0", "grpc-message", "OK"},
		"with two digits": {"grpc-status", "00"},
		"with details":    {"grpc-status", "0", "grpc-status-details-bin", "CAASAk9L"},
		"with all":        {"grpc-message", "fine", "grpc-status-details-bin", "CAA", "grpc-status", "00"},
	} {
		for _, only := range []bool{false, true} {
			answer := append(headers(false, responseFields), headers(true, trailers)...)
			if only {
				answer = headers(true, responseFields, trailers)
			}
			t.Run(name, func(t *testing.T) {
				c := rawServer(t, answer)
				st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any"}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := st.Recv(); err != io.EOF {
					t.Fatalf("Recv: %v, want EOF", err)
				}
				if s := st.Status(); s != nil {
					t.Errorf("the status is %v, want nil, which stands for OK", s)
				}
			})
		}
	}
}

// TestSurplusAcks: SETTINGS that somebody else sent on the connection before us are
// acknowledged too, as package cmux has it.
func TestSurplusAcks(t *testing.T) {
	s := startServer(t, "memory", ServerConfig{}, echoUnary)
	p := rawClient(t, s)
	ack := frame.AppendSettingsAck(nil)
	p.write(append(ack, ack...))
	p.write(headers(true, requestFields))
	if got := p.reply(); got["grpc-status"] != "0" {
		t.Errorf("the call ended with %v", got)
	}
}
