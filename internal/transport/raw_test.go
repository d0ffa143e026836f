// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"io"
	"net"
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

func (p *rawPeer) write(b []byte) {
	if _, err := p.nc.Write(b); err != nil {
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
	fields := map[string]string{}
	for i := range l.Len() {
		fields[string(l.Name(i))] = string(l.Value(i))
	}
	return fields
}

// rawServer answers the one call of a client, which is returned, with frames.
func rawServer(t *testing.T, answer []byte) *Client { return rawServerFor(t, answer, nil) }

func rawServerFor(t *testing.T, answer []byte, cfg *ClientConfig) *Client {
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
			h, _, ok := p.read()
			if !ok {
				return
			}
			if h.Type == frame.Headers {
				p.write(answer)
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
