// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// sending counts what is written, and how much of that comes first.
type sending struct {
	net.Conn
	n, first atomic.Int64
}

func (s *sending) Write(p []byte) (int, error) {
	s.first.CompareAndSwap(0, int64(len(p)))
	n, err := s.Conn.Write(p)
	s.n.Add(int64(n))
	return n, err
}

// failsAfter is a connection whose Read returns an error together with the last byte of a client's handshake. Later
// reads find the end.
type failsAfter struct {
	net.Conn
	client *sending
	shaken <-chan struct{} // the client is done
	got    int64
	err    error
}

func (f *failsAfter) Read(p []byte) (int, error) {
	if f.got == 0 || f.got < f.client.first.Load() { // of the ClientHello
		n, err := f.Conn.Read(p)
		f.got += int64(n)
		return n, err
	}
	<-f.shaken
	left := f.client.n.Load() - f.got
	if left == 0 {
		return 0, io.EOF
	}
	n, err := io.ReadFull(f.Conn, p[:min(int64(len(p)), left)])
	if f.got += int64(n); int64(n) == left && err == nil {
		err = f.err
	}
	return n, err
}

// TestErrorWithTheHandshake: an error that comes with the last bytes of the handshake ends the connection with the first
// read after that.
func TestErrorWithTheHandshake(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		if m.version == tls.VersionTLS12 {
			t.Skip("the server has the last word")
		}
		a, b := sockets(t, "tcp")
		counts, shaken := &sending{Conn: a}, make(chan struct{})
		want := errors.New("reset")
		client := tls.Client(counts, m.config())
		server := newConn(t, &failsAfter{Conn: b, client: counts, shaken: shaken, err: want}, m.config(), true, m.release)
		defer server.Close()
		go func() {
			defer close(shaken)
			if err := client.HandshakeContext(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if err := server.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("the first read: %v", err)
		}
	})
}
