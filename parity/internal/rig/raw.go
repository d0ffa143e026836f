// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"google.golang.org/grpc/parity/internal/probe"
)

// Raw is one end of an HTTP/2 connection that says what it is told to.
type Raw struct {
	net.Conn
	*http2.Framer
	// Path of the requests of RequestFields; Unary if it is empty.
	Path string
	// ends says that Close ends the connection without resetting it.
	ends bool
	buf  bytes.Buffer
	enc  *hpack.Encoder
}

func newRaw(conn net.Conn) *Raw {
	r := &Raw{Conn: conn, Framer: http2.NewFramer(conn, conn)}
	r.enc = hpack.NewEncoder(&r.buf)
	r.Framer.AllowIllegalWrites = true
	r.Framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return r
}

// Close closes the connection. A server says first that it ends, and takes what is still on its way: what
// nobody has read would reset the connection, and chance decide which of both a client sees.
func (r *Raw) Close() error {
	if tcp, is := r.Conn.(*net.TCPConn); is && r.ends {
		defer r.UntilQuiet(0)()
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, tcp)
	}
	return r.Conn.Close()
}

// Block encodes header fields, which are given as name, value, name, value.
func (r *Raw) Block(fields ...string) []byte {
	r.buf.Reset()
	for i := 0; i+1 < len(fields); i += 2 {
		_ = r.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(r.buf.Bytes())
}

// Headers sends a HEADERS frame.
func (r *Raw) Headers(id uint32, end bool, fields ...string) {
	if i := slices.Index(fields, Unary); i > 0 && r.Path != "" {
		fields[i] = r.Path
	}
	_ = r.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: r.Block(fields...), EndHeaders: true, EndStream: end,
	})
}

// Frame is a gRPC message with its prefix.
func Frame(flag byte, payload string) []byte {
	b := make([]byte, 5, 5+len(payload))
	b[0] = flag
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	return append(b, payload...)
}

// Payload is the encoding of M(s), for short strings.
func Payload(s string) string {
	if s == "" {
		return ""
	}
	return "\x0a" + string(rune(len(s))) + s
}

// Message is a message of the service with its prefix.
func Message(s string) []byte { return Frame(0, Payload(s)) }

// A Request is what a client sent on one stream.
type Request struct {
	ID     uint32
	Fields []hpack.HeaderField
	Ended  bool
}

// Get is a header field of the request.
func (r Request) Get(name string) string {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Accept answers settings and pings until the next request's HEADERS; the error is the
// connection's end.
func (r *Raw) Accept() (Request, error) {
	for {
		f, err := r.Next()
		if err != nil {
			return Request{}, err
		}
		if h, ok := f.(*http2.MetaHeadersFrame); ok {
			return Request{ID: h.StreamID, Fields: h.Fields, Ended: h.StreamEnded()}, nil
		}
	}
}

// AcceptAll is Accept, and then waits for the end of what the client sends on the stream.
func (r *Raw) AcceptAll() (Request, error) {
	req, err := r.Accept()
	for err == nil && !req.Ended {
		var f http2.Frame
		if f, err = r.Next(); err != nil {
			break
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			req.Ended = f.StreamID == req.ID && f.StreamEnded()
		case *http2.RSTStreamFrame:
			req.Ended = f.StreamID == req.ID
		}
	}
	return req, err
}

// Next is the next frame but for settings and pings, which it answers, and window updates.
func (r *Raw) Next() (http2.Frame, error) {
	for {
		f, err := r.ReadFrame()
		if err != nil {
			var stream http2.StreamError
			if errors.As(err, &stream) {
				continue
			}
			return nil, err
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = r.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = r.WritePing(true, f.Data)
			}
		case *http2.WindowUpdateFrame:
		default:
			return f, nil
		}
	}
}

// RawServer listens, and lets script be the server of each connection after preface and
// settings. It returns the address.
func RawServer(p *probe.P, script func(*Raw)) string {
	return RawServerSettings(p, nil, script)
}

// RawServerSettings is RawServer with settings.
func RawServerSettings(p *probe.P, settings []http2.Setting, script func(*Raw)) string {
	return ConnServer(p, func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		r := newRaw(conn)
		r.ends = true
		if r.WriteSettings(settings...) == nil {
			script(r)
		}
		_ = r.Close()
	})
}

// ConnServer listens, and lets script have each connection.
func ConnServer(p *probe.P, script func(net.Conn)) string {
	l := Listen()
	p.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.Cleanup(func() { _ = conn.Close() })
			go func() {
				defer conn.Close()
				script(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// RawClient connects to addr and sends preface and settings.
func RawClient(p *probe.P, addr string, settings ...http2.Setting) *Raw {
	r := RawConn(p, addr)
	r.Greet(settings...)
	return r
}

// RawConn connects to addr and sends nothing.
func RawConn(p *probe.P, addr string) *Raw {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	return newRaw(conn)
}

// Greet sends preface and settings.
func (r *Raw) Greet(settings ...http2.Setting) {
	_, _ = io.WriteString(r.Conn, http2.ClientPreface)
	_ = r.WriteSettings(settings...)
}

// RequestFields are those of a call as any client sends it, with changes: name, value, ...
// An empty value takes the field away.
func RequestFields(changes ...string) []string {
	fields := []string{
		":method", "POST", ":scheme", "http", ":path", Unary, ":authority", "probe",
		"content-type", "application/grpc", "te", "trailers",
	}
	for i := 0; i+1 < len(changes); i += 2 {
		fields = replace(fields, changes[i], changes[i+1])
	}
	return fields
}

func replace(fields []string, name, value string) []string {
	for j := 0; j < len(fields); j += 2 {
		if fields[j] != name {
			continue
		}
		if value == "" {
			return append(fields[:j:j], fields[j+2:]...)
		}
		fields[j+1] = value
		return fields
	}
	if strings.HasPrefix(name, ":") { // pseudo-header fields come first
		return append([]string{name, value}, fields...)
	}
	return append(fields, name, value)
}

// Print prints what the peer sends, until the stream ends, or the connection, or a GOAWAY
// says that it will. Data is printed as one line however it came.
func (r *Raw) Print(p *probe.P, id uint32) {
	var data []byte
	flush := func() {
		if len(data) > 0 {
			p.Printf("DATA %q", data)
		}
		data = nil
	}
	defer r.UntilQuiet(700 * time.Millisecond)()
	for {
		f, err := r.Next()
		if err != nil {
			flush()
			p.Printf("%s", endOf(err))
			return
		}
		if d, ok := f.(*http2.DataFrame); ok {
			data = append(data, d.Data()...)
		} else {
			flush()
			p.Printf("%s", Text(f))
		}
		if g, ok := f.(*http2.GoAwayFrame); ok && g.ErrCode != http2.ErrCodeNo {
			return // which side closes first is not to be seen by programs
		}
		if f.Header().StreamID == id && ends(f) {
			flush()
			if f.Header().Type == http2.FrameData {
				p.Printf("END_STREAM")
			}
			return
		}
	}
}

// UntilQuiet has reads fail once d has passed and the process is quiet; stop lets them wait again.
func (r *Raw) UntilQuiet(d time.Duration) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	quiet, forget := probe.QuietOr(d)
	go func() {
		defer close(done)
		select {
		case <-quiet:
			_ = r.SetReadDeadline(time.Unix(1, 0))
		case <-stopped:
			forget()
		}
	}()
	return func() {
		close(stopped)
		<-done
		_ = r.SetReadDeadline(time.Time{})
	}
}

func endOf(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "nothing more"
	case errors.As(err, new(http2.ConnectionError)):
		return "bad frame: " + err.Error()
	default:
		return "closed"
	}
}

func ends(f http2.Frame) bool {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return f.StreamEnded()
	case *http2.DataFrame:
		return f.StreamEnded()
	case *http2.RSTStreamFrame:
		return true
	default:
		return false
	}
}

// Text formats a frame.
func Text(f http2.Frame) string {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		out := "HEADERS"
		if f.StreamEnded() {
			out += " END_STREAM"
		}
		for _, field := range f.Fields {
			if field.Name == "grpc-message" && field.Value == "" {
				continue // some send an empty one, all take it for none
			}
			out += fmt.Sprintf(" %s=%q", field.Name, field.Value)
		}
		return out
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %v", f.ErrCode)
	case *http2.GoAwayFrame:
		if f.ErrCode == http2.ErrCodeNo || f.ErrCode == http2.ErrCodeEnhanceYourCalm {
			return fmt.Sprintf("GOAWAY %v %q", f.ErrCode, f.DebugData())
		}
		return fmt.Sprintf("GOAWAY %v", f.ErrCode) // what was wrong is said for people
	default:
		return f.Header().Type.String()
	}
}
