// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// answer is what a raw client got for its stream 1.
type answer struct {
	fields map[string]string // of the last field block, and ":status" of the first
	body   string
	reset  string // the code of RST_STREAM other than NO_ERROR, or of a GOAWAY
}

// answer reads until nothing more comes, which is for bubbles of testing/synctest.
func (p *rawPeer) answer() (a answer) {
	a.fields = map[string]string{}
	go func() {
		synctest.Wait()
		p.nc.Close()
	}()
	for {
		h, b, ok := p.read()
		if !ok {
			return a
		}
		switch h.Type {
		case frame.Headers:
			maps.Copy(a.fields, p.decode(b))
		case frame.Data:
			a.body += string(b)
		case frame.RSTStream:
			if code, _ := frame.ParseRSTStream(h, b); code != frame.NoError {
				a.reset = code.String()
			}
		case frame.GoAway:
			if f, _ := frame.ParseGoAway(h, b); f.Code != frame.NoError {
				a.reset = "GOAWAY " + f.Code.String()
			}
		}
	}
}

// altered is requestFields with some that replace others or are new; the value "-" leaves
// one out.
func altered(pairs ...string) []string {
	all := append([]string(nil), requestFields...)
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		at := -1
		for j := 0; j < len(all); j += 2 {
			if all[j] == name {
				at = j
			}
		}
		switch {
		case at < 0:
			all = append(all, name, value)
		case value == "-":
			all = append(all[:at], all[at+2:]...)
		default:
			all[at+1] = value
		}
	}
	return all
}

// TestRequestRules: what servers say to requests that break a rule, of RFC 9113 by section
// or of gRPC, and to some that come close to it. All texts are those of the published module.
func TestRequestRules(t *testing.T) {
	const malformed = "PROTOCOL_ERROR"
	ok := map[string]string{":status": "200", "grpc-status": "0"}
	refused := func(http, code, text string) map[string]string {
		return map[string]string{":status": http, "grpc-status": code, "grpc-message": text}
	}
	badTimeout := func(text string) map[string]string { return refused("400", "13", "malformed grpc-timeout: "+text) }
	message := append(frame.AppendDataHeader(nil, 1, 6, true), "\x00\x00\x00\x00\x01m"...)
	half := append(frame.AppendDataHeader(nil, 1, 6, false), "\x00\x00\x00\x00\x01m"...)
	trailers := func(pairs ...string) []byte { return append(half[:len(half):len(half)], headers(true, pairs)...) }
	for _, tt := range []struct {
		name   string
		fields []string
		rest   []byte // nil: the message
		want   map[string]string
		body   string // how it begins
		reset  string
	}{
		{name: "a call", fields: requestFields, want: ok},

		{name: "timeout, unit", fields: altered("grpc-timeout", "1x"), want: badTimeout(`transport: timeout unit is not recognized: "1x"`)},
		{name: "timeout, empty", fields: altered("grpc-timeout", ""), want: badTimeout(`transport: timeout string is too short: ""`)},
		{name: "timeout, nine digits", fields: altered("grpc-timeout", "123456789S"), want: badTimeout(`transport: timeout string is too long: "123456789S"`)},
		{name: "timeout, negative", fields: altered("grpc-timeout", "-1S"), want: badTimeout(`strconv.ParseUint: parsing "-1": invalid syntax`)},
		{name: "timeout, space", fields: altered("grpc-timeout", "1S "), want: badTimeout(`transport: timeout unit is not recognized: "1S "`)},
		{name: "timeout, over", fields: altered("grpc-timeout", "0n"), want: refused("200", "4", "context deadline exceeded")},
		{name: "timeout, over, without a body", fields: altered("grpc-timeout", "0S"), rest: []byte{}, want: refused("200", "4", "context deadline exceeded")},

		{name: "8.1 trailers", fields: requestFields, rest: trailers("x", "y"), want: ok},
		{name: "8.1 pseudo-header in trailers", fields: requestFields, rest: trailers(":path", "/y"), reset: malformed},
		{name: "8.1 trailers without END_STREAM", fields: requestFields, rest: append(half[:len(half):len(half)], headers(false, []string{"x", "y"})...), reset: malformed},
		{name: "8.1 headers as trailers", fields: requestFields, rest: append(half, headers(true, requestFields)...), reset: malformed},
		{name: "8.2.1 upper-case name in trailers", fields: requestFields, rest: trailers("X", "y"), reset: malformed},
		{name: "8.2.1 line end in trailers", fields: requestFields, rest: trailers("x", "a\nb"), reset: malformed},
		{name: "8.2.2 connection in trailers", fields: requestFields, rest: trailers("connection", "y"), reset: malformed},
		{name: "8.1.1 content-length", fields: altered("content-length", "6"), want: ok},
		{name: "8.1.1 content-length, less comes", fields: altered("content-length", "7"), reset: malformed},
		{name: "8.1.1 content-length, more comes", fields: altered("content-length", "5"), reset: malformed},
		{name: "8.1.1 content-length, less comes before trailers", fields: altered("content-length", "7"), rest: trailers("x", "y"), reset: malformed},
		{name: "8.1.1 content-length, nothing comes", fields: altered("content-length", "1"), rest: []byte{}, reset: malformed},
		{name: "8.1.1 content-length that is no number", fields: altered("content-length", "+6"), reset: malformed},
		{name: "8.1.1 two content-lengths", fields: append(altered("content-length", "6"), "content-length", "7"), reset: malformed},
		{name: "8.1.1 the same content-length twice", fields: append(altered("content-length", "6"), "content-length", "6"), want: ok},

		{name: "8.2.1 upper-case name", fields: altered("X", "y"), reset: malformed},
		{name: "8.2.1 space in a name", fields: altered("x y", "z"), reset: malformed},
		{name: "8.2.1 colon in a name", fields: altered("x:y", "z"), reset: malformed},
		{name: "8.2.1 DEL in a name", fields: altered("x\x7f", "y"), reset: malformed},
		{name: "8.2.1 UTF-8 in a name", fields: altered("\u00e4", "y"), reset: malformed},
		{name: "8.2.1 empty name", fields: altered("", "y"), reset: malformed},
		{name: "8.2.1 NUL", fields: altered("x", "a\x00"), reset: malformed},
		{name: "8.2.1 LF", fields: altered("x", "a\nb"), reset: malformed},
		{name: "8.2.1 CR", fields: altered("x", "a\r"), reset: malformed},
		{name: "8.2.1 control character", fields: altered("x", "a\x01"), reset: malformed},
		{name: "8.2.1 DEL", fields: altered("x", "a\x7f"), reset: malformed},
		{name: "8.2.1 tab and UTF-8 inside", fields: altered("x", "a\t\u00e4"), want: ok},
		{name: "8.2.1 white space around the path", fields: altered(":path", "/test.Echo/Any "), reset: malformed},
		{name: "8.2.1 white space around the host", fields: altered("host", " a"), reset: malformed},
		{name: "8.2.1 white space around te", fields: altered("te", "trailers "), reset: malformed},
		{name: "8.2.1 white space around an application's value", fields: altered("authorization", "Bearer "), want: ok},
		{name: "8.2.2 connection", fields: altered("connection", "close"), reset: malformed},
		{name: "8.2.2 proxy-connection", fields: altered("proxy-connection", "close"), reset: malformed},
		{name: "8.2.2 keep-alive", fields: altered("keep-alive", "1"), reset: malformed},
		{name: "8.2.2 upgrade", fields: altered("upgrade", "h2c"), reset: malformed},
		{name: "8.2.2 transfer-encoding", fields: altered("transfer-encoding", "chunked"), reset: malformed},
		{name: "8.2.2 te in other letters", fields: altered("te", "Trailers"), want: ok},
		{name: "8.2.2 te of another value", fields: altered("te", "gzip"), reset: malformed},
		{name: "8.2.2 no te", fields: altered("te", "-"), want: ok},
		{name: "8.2.3 cookies in several fields", fields: append(altered("cookie", "a=b"), "cookie", "c=d"), want: ok},

		{name: "8.3 unknown pseudo-header", fields: append([]string{":x", "y"}, requestFields...), reset: malformed},
		{name: "8.3 pseudo-header of responses", fields: append([]string{":status", "200"}, requestFields...), reset: malformed},
		{name: "8.3 pseudo-header after a field", fields: append([]string{"x", "y"}, requestFields...), reset: malformed},
		{name: "8.3 two :method", fields: append([]string{":method", "POST"}, requestFields...), reset: malformed},
		{name: "8.3 two :scheme", fields: append([]string{":scheme", "http"}, requestFields...), reset: malformed},
		{name: "8.3 two :path", fields: append([]string{":path", "/test.Echo/Any"}, requestFields...), reset: malformed},
		{name: "8.3.1 no :method", fields: altered(":method", "-"), reset: malformed},
		{name: "8.3.1 no :scheme", fields: altered(":scheme", "-"), reset: malformed},
		{name: "8.3.1 no :path", fields: altered(":path", "-"), reset: malformed},
		{name: "8.3.1 empty :path", fields: altered(":path", ""), reset: malformed},
		{name: "8.3.1 two :authority", fields: append([]string{":authority", "a"}, requestFields...), reset: malformed},
		{name: "8.3.1 no :authority", fields: altered(":authority", "-"), want: refused("400", "13", "no host or :authority header present")},
		{name: "8.3.1 empty :authority", fields: altered(":authority", ""), want: ok},
		{name: "8.3.1 host alone", fields: altered(":authority", "-", "host", "b"), want: ok},
		{name: "8.3.1 host that is the same", fields: altered("host", "A:80"), want: ok},
		{name: "8.3.1 host that differs", fields: altered("host", "b"), want: ok},
		{name: "8.5 CONNECT", fields: []string{":method", "CONNECT", ":authority", "a:1"}, reset: malformed},
		{
			name: "8.5 CONNECT with :scheme and :path", fields: altered(":method", "CONNECT"), rest: []byte{},
			want: refused("405", "13", `Received a HEADERS frame with :method "CONNECT" which should be POST`), body: "Received",
		},
		{name: "8.3.1 two hosts", fields: append(altered("host", "a"), "host", "a"), reset: malformed},

		{
			name: "content type of another kind", fields: altered("content-type", "text/html"),
			want: refused("415", "3", `invalid gRPC request content-type "text/html"`), body: `invalid gRPC request content-type "text/html"`,
		},
		{
			name: "no content type", fields: altered("content-type", "-", ":method", "GET"), rest: []byte{},
			want: refused("415", "3", `invalid gRPC request content-type ""`), body: "invalid",
		},
		{
			name: "HEAD", fields: altered("content-type", "-", ":method", "HEAD"), rest: []byte{},
			want: refused("415", "3", `invalid gRPC request content-type ""`),
		},
		{
			name: "GET", fields: altered(":method", "GET"), rest: []byte{},
			want: refused("405", "13", `Received a HEADERS frame with :method "GET" which should be POST`), body: "Received",
		},
		{
			name: "too large headers", fields: altered("x1", strings.Repeat("x", 120), "x2", strings.Repeat("x", 120)),
			want: refused("431", "8", "header list larger than announced in SETTINGS_MAX_HEADER_LIST_SIZE"),
		},
		{
			name: "too large headers, the content type in what is lost", fields: altered("content-type", "-", "x1", strings.Repeat("x", 120), "x2", strings.Repeat("x", 120), "content-type", "application/grpc"),
			want: refused("431", "8", "header list larger than announced in SETTINGS_MAX_HEADER_LIST_SIZE"),
		},
		{
			name: "too large headers of something else", fields: altered("content-type", "text/html", "x1", strings.Repeat("x", 120), "x2", strings.Repeat("x", 120)),
			want: refused("431", "8", "header list larger than announced in SETTINGS_MAX_HEADER_LIST_SIZE"), body: "header list larger",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := uint32(500)
				s := startServer(t, "memory", ServerConfig{Tuning: Tuning{MaxHeaderListSize: &limit}}, func(s *ServerStream) {
					for {
						if _, err := s.Recv(); err == io.EOF {
							_ = s.Finish(nil)
							return
						} else if err != nil {
							return
						}
					}
				})
				p := rawClient(t, s)
				rest := tt.rest
				if rest == nil {
					rest = message
				}
				p.write(append(headers(len(rest) == 0, tt.fields), rest...))
				got := p.answer()
				if got.reset != tt.reset {
					t.Errorf("reset with %q, want %q", got.reset, tt.reset)
				}
				for k, v := range tt.want {
					if got.fields[k] != v {
						t.Errorf("%s is %q, want %q", k, got.fields[k], v)
					}
				}
				if len(tt.want) == 0 && len(got.fields) != 0 {
					t.Errorf("the answer is %q", got.fields)
				}
				wantType := "application/grpc"
				if tt.body != "" || tt.name == "HEAD" {
					wantType = "text/plain; charset=utf-8"
				}
				if len(tt.want) > 0 && got.fields["content-type"] != wantType {
					t.Errorf("the content type is %q", got.fields["content-type"])
				}
				if !strings.HasPrefix(got.body, tt.body) || (got.body == "") != (tt.body == "") || tt.body != "" && !strings.Contains(got.body, "gRPC") {
					t.Errorf("the body is %q, want it to begin with %q", got.body, tt.body)
				}
			})
		})
	}
}

// A request for another connection is the same request, with memory of its own.
func TestRequestIsCopied(t *testing.T) {
	for name, odd := range map[string]*oddities{"usual": &usual, "odd": {subtype: "json", encoding: "gzip", length: 5}} {
		t.Run(name, func(t *testing.T) {
			r := &request{method: unknownMethod("/a.B/C"), size: 100, oddities: odd}
			f := fieldsBuffer{}.addLiteral("name", []byte("value"))
			r.text = string(f.text)
			r.held = h2.NewShared(r.memory(), nil)
			c := r.copy()
			if c == r || c.method != r.method || c.size != r.size || *c.oddities != *odd || (c.oddities == odd) != (odd == &usual) {
				t.Errorf("%+v became %+v", r, c)
			}
			if v := c.fields().values("name"); len(v) != 1 || v[0] != "value" {
				t.Errorf("name is %q", v)
			}
		})
	}
}
