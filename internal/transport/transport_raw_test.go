// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/test/bufconn"
)

const rawPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// rawPeer is the other end of a connection, which speaks frames.
type rawPeer struct {
	t   *testing.T
	nc  net.Conn
	rd  *bufio.Reader
	dec hpack.Decoder
}

// rawClient connects to s, and says what a client says first.
func rawClient(t *testing.T, s *testServer) *rawPeer {
	nc, err := s.lis.(interface{ Dial() (net.Conn, error) }).Dial()
	if err != nil {
		t.Fatal(err)
	}
	p := &rawPeer{t: t, nc: nc, rd: bufio.NewReader(nc)}
	t.Cleanup(func() { nc.Close() })
	p.write(append([]byte(rawPreface), frame.AppendSettings(nil)...))
	return p
}

// write is told of no error when the other end hangs up first, as it may at a test's end.
func (p *rawPeer) write(b []byte) {
	if _, err := p.nc.Write(b); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Error(err)
	}
}

// read returns the next frame.
func (p *rawPeer) read() (h frame.Header, payload []byte, ok bool) {
	var b [frame.HeaderLen]byte
	if _, err := io.ReadFull(p.rd, b[:]); err != nil {
		return h, nil, false
	}
	h = frame.ParseHeader(b[:])
	payload = make([]byte, h.Length)
	_, err := io.ReadFull(p.rd, payload)
	return h, payload, err == nil
}

// block is a field block of literals: names and values in turn, shorter than 127 bytes.
func block(pairs ...string) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		b = append(b, 0)
		for _, s := range pairs[i : i+2] {
			b = append(append(b, byte(len(s))), s...)
		}
	}
	return b
}

var (
	requestFields = []string{
		":method", "POST", ":scheme", "http", ":path", "/test.Echo/Any",
		":authority", "a", "te", "trailers", "content-type", "application/grpc",
	}
	responseFields = []string{":status", "200", "content-type", "application/grpc"}
)

// headersParams is a field block to send, already encoded.
type headersParams struct {
	StreamID  uint32
	Block     []byte
	EndStream bool
}

// fieldBlock is the HEADERS frame, and the CONTINUATION frames, of p.
func fieldBlock(p headersParams) []byte {
	b := append(frame.ReserveHeaders(nil), p.Block...)
	return frame.FinishHeaders(b, 0, p.StreamID, p.EndStream, 0)
}

// messagePrefix is what stands before an uncompressed message of n bytes.
func messagePrefix(n uint32) []byte {
	p := grpcwire.Prefix(false, n)
	return p[:]
}

func headers(end bool, pairs ...[]string) []byte {
	var all []string
	for _, p := range pairs {
		all = append(all, p...)
	}
	return fieldBlock(headersParams{StreamID: 1, Block: block(all...), EndStream: end})
}

// reply reads until a field block and returns its fields.
func (p *rawPeer) reply() map[string]string {
	for {
		h, b, ok := p.read()
		if !ok {
			p.t.Error("the connection ended before a field block")
			return nil
		}
		if h.Type != frame.Headers {
			continue
		}
		return p.decode(b)
	}
}

// decode reads the next field block.
func (p *rawPeer) decode(b []byte) map[string]string {
	var l hpack.List
	l.Reset(1 << 20)
	if err := p.dec.Decode(b, &l); err != nil {
		p.t.Error(err)
	}
	if broken := brokenRule(&l); broken != "" {
		p.t.Errorf("sent, against section %s: %x", broken, b)
	}
	fields := map[string]string{}
	for i := range l.Len() {
		fields[string(l.Name(i))] = string(l.Value(i))
	}
	return fields
}

// brokenRule is the rule of RFC 9113, by section, that fields break which were sent: those of
// a request, of a response or of trailers. Every raw peer looks at all that it gets.
func brokenRule(l *hpack.List) string {
	pseudo := map[string]bool{}
	regular, host := false, false
	for i := range l.Len() {
		name, value := string(l.Name(i)), string(l.Value(i))
		bare := strings.TrimPrefix(name, ":")
		switch {
		case strings.ToLower(name) != name:
			return "8.2 a name in upper case"
		case bare == "" || strings.ContainsFunc(bare, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }):
			return "8.2.1 the name " + strconv.Quote(name)
		case strings.ContainsAny(value, "\x00\r\n"):
			return "8.2.1 the value of " + name
		case slices.Contains([]string{"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"}, name):
			return "8.2.2 " + name
		case name == "te" && value != "trailers":
			return "8.2.2 te: " + value
		case bare == name:
			regular, host = true, host || name == "host"
			continue
		case regular:
			return "8.3 a pseudo-header after a field"
		case pseudo[name]:
			return "8.3 " + name + " twice"
		case !slices.Contains([]string{":method", ":scheme", ":authority", ":path", ":status"}, name):
			return "8.3 " + name
		}
		pseudo[name] = true
	}
	switch {
	case len(pseudo) == 0: // trailers
	case pseudo[":status"] && len(pseudo) > 1:
		return "8.3 pseudo-headers of both sides"
	case !pseudo[":status"] && !(pseudo[":method"] && pseudo[":scheme"] && pseudo[":path"]):
		return "8.3.1 a pseudo-header is missing"
	case host && !pseudo[":status"]:
		return "8.3.1 a host beside :authority"
	}
	return ""
}

// TestBrokenRule: it finds what it is there to find.
func TestBrokenRule(t *testing.T) {
	get := []string{":method", "GET", ":scheme", "http", ":path", "/"}
	for _, tt := range []struct {
		want   string // its section
		fields []string
	}{
		{"", append(slices.Clip(get), "te", "trailers")},
		{"", []string{":status", "200", "a", "b"}},
		{"", []string{"a", "b"}},
		{"8.2", append(slices.Clip(get), "A", "b")},
		{"8.2.1", append(slices.Clip(get), "a b", "b")},
		{"8.2.1", append(slices.Clip(get), "a", "b\n")},
		{"8.2.2", append(slices.Clip(get), "upgrade", "h2c")},
		{"8.2.2", append(slices.Clip(get), "te", "gzip")},
		{"8.3", []string{"a", "b", ":status", "200"}},
		{"8.3", []string{":status", "200", ":status", "200"}},
		{"8.3", []string{":x", "y"}},
		{"8.3", append(slices.Clip(get), ":status", "200")},
		{"8.3.1", []string{":method", "GET", ":scheme", "http"}},
		{"8.3.1", append(slices.Clip(get), "host", "a")},
	} {
		var d hpack.Decoder
		var l hpack.List
		l.Reset(1 << 20)
		if err := d.Decode(block(tt.fields...), &l); err != nil {
			t.Fatal(err)
		}
		if section, _, _ := strings.Cut(brokenRule(&l), " "); section != tt.want {
			t.Errorf("%q: %q, want %q", tt.fields, brokenRule(&l), tt.want)
		}
	}
}

// rawServer answers the one call of a client, which is returned, with frames.
func rawServer(t *testing.T, answer []byte) *Client { return rawServerFor(t, answer, nil) }

func rawServerFor(t *testing.T, answer []byte, cfg *ClientConfig) *Client {
	return rawServerOf(t, cfg, func(p *rawPeer, _ uint32, b []byte) {
		p.decode(b)
		p.write(answer)
	})
}

// rawServerOf has answer called for the block of each call of a client, which is returned.
func rawServerOf(t *testing.T, cfg *ClientConfig, answer func(p *rawPeer, id uint32, b []byte)) *Client {
	s := &testServer{t: t, lis: bufconn.Listen(1 << 20)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		nc, err := s.lis.Accept()
		if err != nil {
			return
		}
		p := &rawPeer{t: t, nc: nc, rd: bufio.NewReader(nc)}
		defer nc.Close()
		_, _ = p.rd.Discard(len(rawPreface))
		p.write(frame.AppendSettings(nil))
		for {
			h, b, ok := p.read()
			switch {
			case !ok:
				return
			case h.Type == frame.Headers:
				answer(p, h.StreamID, b)
			case h.Type == frame.Ping && !h.Flags.Has(frame.FlagAck):
				p.write(frame.AppendPing(nil, true, [8]byte(b)))
			}
		}
	}()
	c, _ := s.dial(cfg)
	t.Cleanup(func() {
		c.Close(nil)
		s.lis.Close()
		<-served
	})
	return c
}

// openToHeaders opens a call of c's, whose headers have come.
func openToHeaders(t *testing.T, c *Client) *ClientStream {
	t.Helper()
	st, err := c.NewStream(context.Background(), &Call{Method: "/a/b", MaxRecvMsgSize: 1}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "headers", st.GotHeaders)
	return st
}
