// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// sniffed is a connection of which the first n bytes that the client sent were read.
func sniffed(t *testing.T, m mode, sent []byte, n int) (server *Conn, raw, client net.Conn, p []byte) {
	t.Helper()
	a, b := sockets(t, "tcp")
	server = newConn(t, a, m.config(), true, m.release)
	peer := tls.Client(b, m.config())
	go func() {
		if peer.Handshake() == nil {
			_, _ = peer.Write(sent)
		}
	}()
	if err := server.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	p = make([]byte, n)
	if _, err := io.ReadFull(server, p); err != nil {
		t.Fatal(err)
	}
	return server, a, peer, p
}

// wantAll reads as much as was sent, and answers.
func wantAll(t *testing.T, server, client net.Conn, sent []byte) {
	t.Helper()
	server.SetDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(server, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("other bytes were read than were sent")
	}
	done := make(chan error, 1)
	go func() { _, err := io.ReadFull(client, make([]byte, len(sent))); done <- err }()
	if _, err := server.Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestGiveBack(t *testing.T) {
	sent := pattern(50_000)
	forEachMode(t, func(t *testing.T, m mode) {
		for _, n := range []int{0, 1, 24, 17_000, 50_000} {
			server, _, client, p := sniffed(t, m, sent, n)
			server.GiveBack(p)
			wantAll(t, server, client, sent)
			server.ReleaseIdle()
			if m.release && server.Held() != 0 {
				t.Errorf("%d bytes are held", server.Held())
			}
		}
	})
}

func TestSurrender(t *testing.T) {
	sent := pattern(50_000)
	forEachMode(t, func(t *testing.T, m mode) {
		for _, n := range []int{0, 1, 24, 17_000, 50_000} {
			server, raw, client, p := sniffed(t, m, sent, n)
			plain, err := server.Surrender(p)
			if err != nil {
				t.Fatal(err)
			}
			if plain.NetConn() != raw {
				t.Errorf("over a %T", plain.NetConn())
			}
			wantAll(t, plain, client, sent)
			go plain.Close()
			if _, err := client.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestSurrenderClosed(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		server, _, _, p := sniffed(t, m, []byte("x"), 1)
		server.Close()
		if _, err := server.Surrender(p); err == nil {
			t.Error("no error")
		}
	})
}

// givers are the ways to give back what was read.
var givers = map[string]func(*Conn, []byte) (net.Conn, error){
	"GiveBack":  func(c *Conn, p []byte) (net.Conn, error) { c.GiveBack(p); return c, nil },
	"Surrender": func(c *Conn, p []byte) (net.Conn, error) { return c.Surrender(p) },
}

// TestGiveBackBeforeTheEnd: what was read together with the end of the stream is read again before the end.
func TestGiveBackBeforeTheEnd(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		for name, give := range givers {
			client, server, _, _ := memPair(t, m)
			want := pattern(100)
			if err := errors.Join(send(client, want), client.CloseWrite()); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 200)
			n, err := server.Read(p)
			if n != len(want) || err != nil || server.rerr != io.EOF {
				t.Fatalf("%d bytes, %v, then %v", n, err, server.rerr)
			}
			c, err := give(server, p[:n])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	})
}

// TestGiveBackKeepsTheError: an error that came with what was read comes after it, even one that tls.Conn does not repeat.
func TestGiveBackKeepsTheError(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		for name, give := range givers {
			client, server, _, _ := memPair(t, m)
			client.Close()
			want := errors.New("reset")
			server.rerr = want
			c, err := give(server, []byte("abc"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c); err != want || string(got) != "abc" {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	})
}
