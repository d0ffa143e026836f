// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"crypto/fips140"
	"crypto/tls"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/tlsconn/keyrest"
)

// If this fails the running version of Go has other ciphers: idle connections then hold what
// these make of their keys until package keyrest is adapted.
func TestRestable(t *testing.T) {
	if fips140.Enabled() {
		t.Skip("ciphers are left alone")
	}
	if err := restRefusal(); err != nil {
		t.Fatal(err)
	}
}

// resting returns a pair whose ciphers can rest.
func resting(t *testing.T) (client, server *Conn) {
	t.Helper()
	if !restable() {
		t.Skip("ciphers do not rest here")
	}
	return pair(t, "tcp", mode{version: tls.VersionTLS13, release: true})
}

// wantRest checks which halves of c rest.
func wantRest(t *testing.T, c *Conn, wantIn, wantOut bool) {
	t.Helper()
	in, out := keyrest.Halves(c.tls)
	if in.Rests() != wantIn || out.Rests() != wantOut {
		t.Fatalf("at rest: in %t, out %t; want %t, %t", in.Rests(), out.Rests(), wantIn, wantOut)
	}
}

func TestRest(t *testing.T) {
	client, server := resting(t)
	wantRest(t, server, false, false)
	exchange(t, client, server, pattern(100))
	exchange(t, server, client, pattern(100))
	for range 3 {
		client.intake.wakes, server.intake.wakes = 0, 0
		wantIdle(t, client)
		wantIdle(t, server)
		wantRest(t, client, true, true)
		wantRest(t, server, true, true)
		// Nobody reads on the server who could have it rest again.
		exchange(t, server, client, pattern(40_000))
		wantRest(t, server, true, true)
		wantRest(t, client, false, true)
		wantIdle(t, client)
		exchange(t, client, server, pattern(40_000))
		wantRest(t, client, true, true)
		wantRest(t, server, false, true)
		// With a reader that is busy it stays awake.
		exchange(t, server, client, pattern(100))
		wantRest(t, server, false, false)
	}
}

// A writer goes on while the reader has the connection rest, again and again.
func TestRestBesideWrites(t *testing.T) {
	client, server := resting(t)
	const n, size = 500, 1000
	p := pattern(size)
	wrote := make(chan error, 1)
	go func() {
		for range n {
			if err := send(server, p); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	var readers sync.WaitGroup
	readers.Go(func() {
		for range n {
			if _, err := server.TryReadInto(make([]byte, 1)); err == nil {
				t.Error("there is nothing to read")
			}
			server.ReleaseIdle()
		}
	})
	got, err := receive(client, n*size)
	if err != nil || !bytes.Equal(got, bytes.Repeat(p, n)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	readers.Wait()
	server.ReleaseIdle()
	wantRest(t, server, true, true)
}

// New keys come with ciphers of crypto/tls's, which rest next time.
func TestRestAfterKeyUpdate(t *testing.T) {
	if !restable() {
		t.Skip("ciphers do not rest here")
	}
	p, c := newPeer13(t, true, false)
	for range 3 {
		c.intake.wakes = 0
		wantIdle(t, c)
		wantRest(t, c, true, true)
		p.write(p.update(true))
		if _, err := c.TryReadInto(make([]byte, 1)); err == nil {
			t.Fatal("there is nothing to read")
		}
		wantRest(t, c, false, false)
		p.want(typeHandshake, updateMessage(false))
		wantIdle(t, c)
		wantRest(t, c, true, true)
		p.send(typeData, []byte("abc"))
		wantRead(t, c, "abc")
		if err := send(c, []byte("reply")); err != nil {
			t.Fatal(err)
		}
		p.want(typeData, []byte("reply"))
	}
}

// Ciphers of other kinds are left alone.
func TestRestOfOthers(t *testing.T) {
	if !restable() {
		t.Skip("ciphers do not rest here")
	}
	client, server := pair(t, "tcp", mode{version: tls.VersionTLS12, release: true})
	exchange(t, client, server, pattern(100))
	wantIdle(t, server)
	wantRest(t, server, false, false)
	exchange(t, client, server, pattern(100))
	exchange(t, server, client, pattern(100))
}
