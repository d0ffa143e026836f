// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/resolver/networktype"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
)

// TestDialerAddress checks what a dialer of the program's gets for an address, and that
// the system's dialer finds the same socket by it.
func TestDialerAddress(t *testing.T) {
	for _, tt := range []struct {
		network, addr string
		want          string
		socket        string // by the name that package net has for it
	}{
		{"unix", "/run/x.sock", "unix:///run/x.sock", "/run/x.sock"},
		{"unix", "//run/x.sock", "unix:////run/x.sock", "//run/x.sock"},
		{"unix", "run/x.sock", "unix:run/x.sock", "run/x.sock"},
		{"unix", "./x.sock", "unix:./x.sock", "./x.sock"},
		{"unix", "@name", "unix:@name", "@name"},
		{"unix", "@/a/b", "unix:@/a/b", "@/a/b"},
		{"unix", "\x00name", "unix:@name", "@name"},
		{"", "host:1", "host:1", ""},
		{"", "unix:///run/x.sock", "unix:///run/x.sock", "/run/x.sock"}, // of passthrough
	} {
		addr := resolver.Address{Addr: tt.addr}
		if tt.network != "" {
			addr = networktype.Set(addr, tt.network)
		}
		var got string
		_, _ = dial(context.Background(), addr, func(_ context.Context, a string) (net.Conn, error) {
			got = a
			return nil, errors.New("only asked")
		})
		if got != tt.want {
			t.Errorf("%s %q: the dialer got %q, want %q", tt.network, tt.addr, got, tt.want)
		}
		if network, socket := networkOf(got); tt.socket != "" && (network != "unix" || socket != tt.socket) {
			t.Errorf("%q is %s %q, want unix %q", got, network, socket, tt.socket)
		}
	}
}

// inattentive are credentials that wait for a byte of the peer's, whatever becomes of ctx.
type inattentive struct {
	credentials.TransportCredentials
}

func (inattentive) ClientHandshake(_ context.Context, _ string, nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	_, err := nc.Read(make([]byte, 1))
	return nc, nil, err
}

// TestHandshakeIsCancelled: an attempt that is cancelled leaves no handshake behind, whatever credentials do.
func TestHandshakeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		done := make(chan error)
		go func() {
			_, err := new(Client).handshake(ctx, inattentive{insecure.NewCredentials()}, resolver.Address{}, near)
			done <- err
		}()
		synctest.Wait()
		begun := time.Now()
		cancel()
		if err := <-done; err == nil || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// undeadlined takes deadlines that have no effect.
type undeadlined struct{ net.Conn }

func (undeadlined) SetDeadline(time.Time) error { return nil }

// TestHandshakeOutlivesDeadline: an attempt's time ends, also where deadlines have no effect.
func TestHandshakeOutlivesDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err := new(Client).handshake(ctx, inattentive{insecure.NewCredentials()}, resolver.Address{}, undeadlined{near})
		if took := time.Since(begun); err == nil || took != time.Minute+handshakeGrace {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestHandshakeWithoutLimit: nor does it end at once where there is as much time as there can be.
func TestHandshakeWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		defer near.Close()
		ctx, cancel := context.WithTimeout(t.Context(), math.MaxInt64)
		defer cancel()
		time.AfterFunc(time.Hour, func() { far.Write([]byte{0}) })
		c := &Client{peer: new(peer.Peer)}
		if _, err := c.handshake(ctx, inattentive{insecure.NewCredentials()}, resolver.Address{}, near); err != nil {
			t.Error(err)
		}
	})
}
