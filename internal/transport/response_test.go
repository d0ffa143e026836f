// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// TestResponseRules: what clients make of answers, by section of RFC 9113 where it breaks a
// rule of that. Codes and texts are those of the published module.
func TestResponseRules(t *testing.T) {
	head := func(pairs ...string) []byte { return headers(false, pairs) }
	tail := func(pairs ...string) []byte { return headers(true, pairs) }
	data := func(body string, end bool) []byte {
		return append(frame.AppendDataHeader(nil, 1, len(body), end), body...)
	}
	rst := func(code frame.ErrCode) []byte { return frame.AppendRSTStream(nil, 1, code) }
	const message = "\x00\x00\x00\x00\x01m"
	const html = "text/html"
	good, ok := headers(false, responseFields), tail("grpc-status", "0")
	with := func(pairs ...string) []byte { return headers(false, responseFields, pairs) }
	unexpected := func(code string) string {
		return "unexpected HTTP status code received from server: " + code + `; transport: received unexpected content-type "text/html"`
	}
	for _, tt := range []struct {
		name   string
		answer [][]byte
		code   codes.Code
		text   string // how it begins
	}{
		{"a reply", [][]byte{good, data(message, false), ok}, codes.OK, ""},
		{"OK with other details", [][]byte{good, tail("grpc-status", "0", "grpc-status-details-bin", "CAUSAk9L")}, codes.Internal, "grpc-status-details-bin mismatch: grpc-status=OK"},
		{"other details", [][]byte{good, tail("grpc-status", "3", "grpc-message", "m", "grpc-status-details-bin", "CAUSAk9L")}, codes.Internal, `grpc-status-details-bin mismatch: grpc-status=InvalidArgument, grpc-message="m", grpc-status-details-bin=code:5`},
		{"broken details", [][]byte{good, tail("grpc-status", "3", "grpc-status-details-bin", "!!!")}, codes.Internal, "transport: malformed grpc-status-details-bin: "},

		{"a message without a status", [][]byte{good, tail("grpc-message", "m%20n")}, codes.Unknown, "m n"},
		{"a message without a status, which looks encoded once more", [][]byte{good, tail("grpc-message", "m%2520n")}, codes.Unknown, "m%20n"},
		{"a sign", [][]byte{good, tail("grpc-status", "+5")}, codes.NotFound, ""},

		{"a web page", [][]byte{head(":status", "503", "content-type", html), data("<p>", false), data("no", true)}, codes.Unavailable, unexpected("503 (Service Unavailable)") + "\ndata: \"<p>no\""},
		{"a web page that goes on", [][]byte{head(":status", "503", "content-type", html), data(strings.Repeat("x", 2000), false)}, codes.Unavailable, unexpected("503 (Service Unavailable)") + "\ndata: \"xxx"},
		{"a web page with trailers", [][]byte{head(":status", "404", "content-type", html), data("no", false), tail("grpc-status", "5")}, codes.Unimplemented, unexpected("404 (Not Found)") + "\ndata: \"no\""},
		{"a web page cut off", [][]byte{head(":status", "404", "content-type", html), data("no", false), rst(frame.InternalError)}, codes.Unimplemented, unexpected("404 (Not Found)") + "\ndata: \"no\""},
		{"an empty web page", [][]byte{tail(":status", "200", "content-type", html)}, codes.Unknown, unexpected("200 (OK)")},
		{"a web page with a grpc-status", [][]byte{tail(":status", "404", "content-type", html, "grpc-status", "5")}, codes.Unimplemented, unexpected("404 (Not Found)")},
		{"404 of gRPC with a grpc-status", [][]byte{tail(":status", "404", "content-type", "application/grpc", "grpc-status", "5", "grpc-message", "m")}, codes.NotFound, "m"},
		{"404 of gRPC with a grpc-status in trailers", [][]byte{head(":status", "404", "content-type", "application/grpc"), tail("grpc-status", "5", "grpc-message", "m")}, codes.NotFound, "m"},
		{"404 of gRPC without", [][]byte{head(":status", "404", "content-type", "application/grpc"), tail("x", "y")}, codes.Unimplemented, "unexpected HTTP status code received from server: 404 (Not Found)"},
		{"431", [][]byte{tail(":status", "431", "content-type", html)}, codes.Unknown, "unexpected HTTP status code received from server: 431"},

		{"RST FLOW_CONTROL_ERROR", [][]byte{rst(frame.FlowControlError)}, codes.ResourceExhausted, "stream terminated by RST_STREAM with error code: FLOW_CONTROL_ERROR"},
		{"RST of an unknown code", [][]byte{rst(0x99)}, codes.Unknown, "stream terminated by RST_STREAM with error code: unknown error code 0x99"},
		{"RST REFUSED_STREAM", [][]byte{rst(frame.RefusedStream)}, codes.Unavailable, "stream terminated by RST_STREAM with error code: REFUSED_STREAM"},
		{"large headers", [][]byte{with("x1", strings.Repeat("x", 120), "x2", strings.Repeat("x", 120), "x3", strings.Repeat("x", 120))}, codes.Internal, ""},

		{"8.1 a signed :status", [][]byte{head(":status", "+20", "content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.1 a :status below 100", [][]byte{head(":status", "099", "content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.1 :status in trailers", [][]byte{good, tail(":status", "200", "grpc-status", "0")}, codes.Internal, ""},
		{"8.1 headers in the middle", [][]byte{good, good, ok}, codes.Internal, ""},
		{"8.1 trailers without END_STREAM", [][]byte{good, data(message, false), head("grpc-status", "0")}, codes.Internal, ""},
		{"8.1 RST_STREAM with NO_ERROR after a whole response", [][]byte{good, data(message, false), ok, rst(frame.NoError)}, codes.OK, ""},
		{"8.1 pseudo-header of requests in trailers", [][]byte{good, tail("grpc-status", "0", ":path", "/x")}, codes.Internal, ""},
		{"8.1 DATA before HEADERS", [][]byte{data(message, false)}, codes.Internal, ""},
		{"8.1 informational headers", [][]byte{head(":status", "103", "x", "y"), good, ok}, codes.OK, ""},
		{"8.1 informational headers at the end", [][]byte{tail(":status", "103")}, codes.Internal, ""},
		{"8.1.1 content-length", [][]byte{with("content-length", "6"), data(message, false), ok}, codes.OK, ""},
		{"8.1.1 content-length, less comes", [][]byte{with("content-length", "7"), data(message, false), ok}, codes.Internal, ""},
		{"8.1.1 content-length, more comes", [][]byte{with("content-length", "5"), data(message, false), ok}, codes.Internal, ""},
		{"8.1.1 content-length, nothing comes", [][]byte{tail(append(slices.Clip(responseFields), "content-length", "6", "grpc-status", "0")...)}, codes.Internal, ""},
		{"8.1.1 two content-lengths", [][]byte{with("content-length", "6", "content-length", "7"), data(message, false), ok}, codes.Internal, ""},
		{"8.1.1 content-length that is no number", [][]byte{with("content-length", "x"), ok}, codes.Internal, ""},
		{"8.2.1 upper-case name", [][]byte{with("X", "y"), ok}, codes.Internal, ""},
		{"8.2.1 upper-case name in trailers", [][]byte{good, tail("grpc-status", "0", "X", "y")}, codes.Internal, ""},
		{"8.2.1 space in a name", [][]byte{with("x y", "z"), ok}, codes.Internal, ""},
		{"8.2.1 colon in a name", [][]byte{with("x:y", "z"), ok}, codes.Internal, ""},
		{"8.2.1 DEL in a name", [][]byte{with("x\x7f", "y"), ok}, codes.Internal, ""},
		{"8.2.1 UTF-8 in a name", [][]byte{with("\u00e4", "y"), ok}, codes.Internal, ""},
		{"8.2.1 empty name", [][]byte{with("", "y"), ok}, codes.Internal, ""},
		{"8.2.1 LF", [][]byte{with("x", "a\nb"), ok}, codes.Internal, ""},
		{"8.2.1 CR", [][]byte{with("x", "a\r"), ok}, codes.Internal, ""},
		{"8.2.1 tab and UTF-8 inside", [][]byte{with("x", "a\t\u00e4"), ok}, codes.OK, ""},
		{"8.2.1 white space around a length", [][]byte{with("content-length", " 0"), ok}, codes.Internal, ""},
		{"8.2.1 NUL", [][]byte{with("x", "\x00"), ok}, codes.Internal, ""},
		{"8.2.1 control character in trailers", [][]byte{good, tail("grpc-status", "0", "x", "\x01")}, codes.Internal, ""},
		{"8.2.1 white space around an application's value", [][]byte{with("x", " a "), ok}, codes.OK, ""},
		{"8.2.1 white space around a message", [][]byte{good, tail("grpc-status", "5", "grpc-message", "m: ")}, codes.NotFound, "m: "},
		{"8.2.2 keep-alive", [][]byte{with("keep-alive", "1"), ok}, codes.Internal, ""},
		{"8.2.2 proxy-connection", [][]byte{with("proxy-connection", "close"), ok}, codes.Internal, ""},
		{"8.2.2 transfer-encoding", [][]byte{with("transfer-encoding", "chunked"), ok}, codes.Internal, ""},
		{"8.2.2 upgrade", [][]byte{with("upgrade", "h2c"), ok}, codes.Internal, ""},
		{"8.2.2 connection in trailers", [][]byte{good, tail("grpc-status", "0", "connection", "close")}, codes.Internal, ""},
		{"8.2.2 connection", [][]byte{with("connection", "close"), ok}, codes.Internal, ""},
		{"8.3 pseudo-header of requests", [][]byte{head(":status", "200", ":path", "/x", "content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.3 unknown pseudo-header", [][]byte{head(":status", "200", ":x", "y", "content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.3 pseudo-header after a field", [][]byte{head("content-type", "application/grpc", ":status", "200"), ok}, codes.Internal, ""},
		{"8.3.2 no :status", [][]byte{head("content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.3.2 no :status, at the end", [][]byte{tail("content-type", "application/grpc", "grpc-status", "0")}, codes.Internal, ""},
		{"8.3.2 two :status", [][]byte{head(":status", "200", ":status", "200", "content-type", "application/grpc"), ok}, codes.Internal, ""},
		{"8.3.2 :status that is no status", [][]byte{head(":status", "abc", "content-type", "application/grpc"), ok}, codes.Internal, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := uint32(400)
				c := rawServerFor(t, slices.Concat(tt.answer...), &ClientConfig{Tuning: Tuning{MaxHeaderListSize: &limit}})
				st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 1 << 20}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				for {
					if _, err := st.Recv(); err != nil {
						break
					}
				}
				end := st.Status()
				if end.Code() != tt.code || !strings.HasPrefix(squeeze(end.Message()), tt.text) {
					t.Errorf("the call ends with %v %q, want %v %q", end.Code(), end.Message(), tt.code, tt.text)
				}
				if md := st.Trailer(); md == nil {
					t.Error("the trailers are nil: programs write to them")
				}
			})
		})
	}
}

// squeeze makes one space of several: those in texts of protobuf messages vary.
func squeeze(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

// TestRefusedAfterHeaders: a server that has answered has processed the call, whatever it
// says later.
func TestRefusedAfterHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := append(headers(false, responseFields), frame.AppendRSTStream(nil, 1, frame.RefusedStream)...)
		c := rawServer(t, answer)
		st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any"}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		st.AwaitEnd()
		if st.Unprocessed() || st.Status().Code() != codes.Unavailable {
			t.Errorf("unprocessed %v, %v", st.Unprocessed(), st.Status())
		}
	})
}

// TestAwaitReply: a reply wakes once, with its end if that came with it, and without if it
// did not.
func TestAwaitReply(t *testing.T) {
	reply := append(headers(false, responseFields), dataFrame(1, 6, []byte("\x00\x00\x00\x00\x01x"))...)
	ended := append(reply[:len(reply):len(reply)], headers(true, []string{"grpc-status", "5"})...)
	for name, tt := range map[string]struct {
		answer []byte
		code   codes.Code // OK: the stream goes on
	}{
		"with its end": {ended, codes.NotFound},
		"alone":        {reply, codes.OK},
		"without any":  {headers(true, responseFields, []string{"grpc-status", "6"}), codes.AlreadyExists},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := rawServer(t, tt.answer)
				st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 100}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				st.AwaitReply()
				st.mu.Lock()
				over := st.over
				st.mu.Unlock()
				if over != (tt.code != codes.OK) || over && st.Status().Code() != tt.code {
					t.Errorf("over: %v, %v", over, st.Status())
				}
				synctest.Wait()
				if c.replied != nil && tt.code != codes.OK {
					t.Error("the connection keeps a stream that is over")
				}
				st.Cancel(context.Canceled)
			})
		})
	}
}

// TestSecondMessageEndsWait: a call that may have one reply does not wait for its end once a second message has come,
// also if both come in one frame.
func TestSecondMessageEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := []byte("\x00\x00\x00\x00\x01x\x00\x00\x00\x00\x01y")
		c := rawServer(t, append(headers(false, responseFields), dataFrame(1, len(two), two)...))
		st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 100}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		st.AwaitEnd() // a wait without end is a deadlock of the bubble
		st.Cancel(context.Canceled)
	})
}

// TestAwaitRepliesOfOneBatch: each of two calls whose replies come together is woken.
func TestAwaitRepliesOfOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var replies []byte
		c := rawServerOf(t, nil, func(p *rawPeer, id uint32, b []byte) {
			p.decode(b)
			replies = append(replies, fieldBlock(headersParams{StreamID: id, Block: block(responseFields...)})...)
			replies = append(replies, dataFrame(id, 6, []byte("\x00\x00\x00\x00\x01x"))...)
			if id == 3 {
				p.write(replies)
			}
		})
		var calls sync.WaitGroup
		for range 2 {
			st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 100}, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			calls.Go(func() {
				st.AwaitReply()
				st.Cancel(context.Canceled)
			})
		}
		calls.Wait()
	})
}

// TestEncodingAfterCancel: what a call's messages are compressed with is known as long as
// somebody has one of them, also once the call was cancelled, or has lost its connection.
func TestEncodingAfterCancel(t *testing.T) {
	ends := map[string]func(c *Client, st *ClientStream){
		"cancelled":       func(_ *Client, st *ClientStream) { st.Cancel(context.Canceled) },
		"connection lost": func(c *Client, st *ClientStream) { c.Close(nil); st.AwaitEnd() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				prefix := grpcwire.Prefix(true, 3)
				answer := headers(false, responseFields, []string{"grpc-encoding", "reverse"})
				answer = append(answer, dataFrame(1, 8, append(prefix[:], "cba"...))...)
				c := rawServer(t, answer)
				st, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 100}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				m, err := st.Recv()
				if err != nil || !m.Compressed {
					t.Fatalf("%+v, %v: %v", m, err, st.Status())
				}
				end(c, st)
				if got := st.RecvCompress(); got != "reverse" {
					t.Errorf("afterwards the encoding is %q", got)
				}
				m.Data.Free()
			})
		})
	}
}
