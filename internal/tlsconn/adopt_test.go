// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"os"
	"syscall"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
)

// TestAdoptedKeepsTheError: an error that comes together with bytes, such as TCP's when it gives up, is returned after
// them by each way to read. Nobody waits for a socket that has nothing to say any more.
func TestAdoptedKeepsTheError(t *testing.T) {
	for name, again := range map[string]func(*adopted, mem.BufferPool) error{
		"ReadOnReady": func(a *adopted, pool mem.BufferPool) error { _, _, err := a.ReadOnReady(9, pool); return err },
		"Read":        func(a *adopted, _ mem.BufferPool) error { _, err := a.Read(make([]byte, 9)); return err },
	} {
		ours, theirs := sockets(t, "tcp")
		server, client := tls.Server(ours, testConfig()), tls.Client(theirs, testConfig())
		a, ok := Adopt(server, Options{Release: true}).(*adopted)
		if !ok {
			t.Skip("no tls.Conn is read when its socket is ready here")
		}
		shake(t, client, server)
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		gaveUp := os.NewSyscallError("read", syscall.ETIMEDOUT)
		a.Conn = &testutils.LastWords{Conn: server, Words: "abc", Err: gaveUp}
		pool := mem.DefaultBufferPool()
		buf, n, err := a.ReadOnReady(9, pool)
		if err != nil || n != 3 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		pool.Put(buf)
		if _, err := ours.Read(make([]byte, 100)); err != nil { // the socket has no input
			t.Fatal(err)
		}
		if _, _, err := a.TryRead(9, pool); err == readyreader.ErrWouldBlock {
			t.Errorf("%s: the socket is waited for", name)
		} else if err := again(a, pool); err != gaveUp {
			t.Errorf("%s: then %v", name, err)
		}
	}
}
