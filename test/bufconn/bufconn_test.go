// SPDX-License-Identifier: Apache-2.0

package bufconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// connect returns the two ends of a connection.
func connect(t *testing.T, size int) (client, server *conn) {
	t.Helper()
	lis := Listen(size)
	defer lis.Close()
	dialed := make(chan net.Conn, 1)
	go func() {
		c, err := lis.Dial()
		if err != nil {
			t.Error(err)
		}
		dialed <- c
	}()
	s, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client, server = (<-dialed).(*conn), s.(*conn)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestBothDirections(t *testing.T) {
	for _, size := range []int{-1, 0, 1, 7, 4 << 10, 1 << 20} {
		client, server := connect(t, size)
		want := make([]byte, 20_000)
		for i := range want {
			want[i] = byte(rand.Uint32())
		}
		for _, way := range []struct{ from, to *conn }{{client, server}, {server, client}} {
			go func() {
				if n, err := way.from.Write(want); n != len(want) || err != nil {
					t.Errorf("size %d: %d, %v", size, n, err)
				}
			}()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("size %d: %v", size, err)
			}
		}
	}
}

// TestRandomSteps compares a pipe with a plain slice of bytes.
func TestRandomSteps(t *testing.T) {
	const limit = 10_000
	p := newPipe(limit)
	var model []byte
	for range 5_000 {
		b := make([]byte, rand.IntN(limit/3))
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		if rand.IntN(2) == 0 {
			n, err := p.tryWrite(b)
			room := limit - len(model)
			if n != min(len(b), room) || (err == nil) != (n == len(b)) {
				t.Fatalf("write of %d into %d: %d, %v", len(b), room, n, err)
			}
			model = append(model, b[:n]...)
			continue
		}
		n, err := p.tryRead(b)
		if n != min(len(b), len(model)) || (err == nil) != (len(model) > 0) || !bytes.Equal(b[:n], model[:n]) {
			t.Fatalf("read of %d from %d: %d, %v", len(b), len(model), n, err)
		}
		model = model[n:]
	}
}

func TestFullBufferWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, 10)
		done := make(chan error, 1)
		go func() {
			_, err := client.Write(make([]byte, 15))
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("15 bytes went into 10: %v", err)
		default:
		}
		if n, err := server.Read(make([]byte, 100)); n != 10 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n, err := server.Read(make([]byte, 100)); n != 5 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, 10)
		results := make(chan error, 2)
		go func() {
			_, err := client.Read(make([]byte, 1))
			results <- err
		}()
		go func() {
			_, err := client.Write(make([]byte, 11))
			results <- err
		}()
		synctest.Wait()
		client.Close()
		for range 2 {
			if err := <-results; err != io.ErrClosedPipe {
				t.Errorf("waiting on the closed end: %v", err)
			}
		}
		if got, err := io.ReadAll(server); len(got) != 10 || err != nil {
			t.Errorf("the other end reads %d bytes, %v", len(got), err)
		}
		if _, err := server.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the other end writes: %v", err)
		}
		if client.Close() != nil || client.SetDeadline(time.Now().Add(time.Hour)) != nil {
			t.Error("a second Close or a deadline after it fails")
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, 4)
		begin := time.Now()
		client.SetReadDeadline(begin.Add(time.Second))
		if _, err := client.Read(make([]byte, 1)); !timedOut(err) || time.Since(begin) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(begin))
		}
		client.SetWriteDeadline(begin.Add(3 * time.Second))
		if n, err := client.Write(make([]byte, 6)); n != 4 || !timedOut(err) || time.Since(begin) != 3*time.Second {
			t.Errorf("write: %d, %v after %v", n, err, time.Since(begin))
		}
		client.SetDeadline(begin)
		if _, err := client.Read(make([]byte, 1)); !timedOut(err) {
			t.Errorf("read with a deadline in the past: %v", err)
		}

		// Moved and removed while a read waits; nothing is lost.
		client.SetDeadline(time.Now().Add(time.Minute))
		go func() {
			time.Sleep(time.Second)
			client.SetReadDeadline(time.Time{})
			time.Sleep(time.Hour)
			server.Write([]byte("ok"))
		}()
		b := make([]byte, 4)
		if n, err := client.Read(b); string(b[:n]) != "ok" || err != nil {
			t.Errorf("%q, %v", b[:n], err)
		}
	})
}

func timedOut(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &ne) && ne.Timeout()
}

func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := Listen(1)
		results := make(chan error, 1)
		go func() {
			_, err := lis.Accept()
			results <- err
		}()
		synctest.Wait()
		lis.Close()
		lis.Close()
		if err := <-results; !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := lis.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept later: %v", err)
		}
		if _, err := lis.Dial(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial: %v", err)
		}
		if a := lis.Addr(); a.Network() != "bufconn" || a.String() != "bufconn" {
			t.Errorf("address %v", a)
		}
	})
}

func TestDialContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := Listen(1)
		defer lis.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lis.DialContext(ctx); err != context.DeadlineExceeded {
			t.Errorf("nobody accepts: %v", err)
		}
	})
}

// TestReadOnReady: no buffer is out while nothing was written.
func TestReadOnReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, 100)
		pool := &countingPool{}
		type result struct {
			text string
			err  error
		}
		results := make(chan result, 1)
		read := func() {
			buf, n, err := server.ReadOnReady(16, pool)
			r := result{err: err}
			if buf != nil {
				r.text = string((*buf)[:n])
				pool.Put(buf)
			}
			results <- r
		}
		go read()
		synctest.Wait()
		if pool.out != 0 {
			t.Errorf("%d buffers held while waiting", pool.out)
		}
		client.Write([]byte("hello"))
		if r := <-results; r.text != "hello" || r.err != nil {
			t.Errorf("%+v", r)
		}
		go read()
		synctest.Wait()
		client.Close()
		if r := <-results; r.err != io.EOF {
			t.Errorf("%+v", r)
		}
		if pool.out != 0 {
			t.Errorf("%d buffers left", pool.out)
		}
	})
}

type countingPool struct{ out int }

var _ mem.BufferPool = (*countingPool)(nil)

func (p *countingPool) Get(n int) *[]byte {
	p.out++
	b := make([]byte, n)
	return &b
}

func (p *countingPool) Put(*[]byte) { p.out-- }

func TestTryWrite(t *testing.T) {
	client, server := connect(t, 3)
	if n, err := client.TryWrite([]byte("abcd")); n != 3 || err != readyreader.ErrWouldBlock {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := client.TryWrite([]byte("d")); n != 0 || err != readyreader.ErrWouldBlock {
		t.Errorf("full: %d, %v", n, err)
	}
	server.Close()
	if n, err := client.TryWrite([]byte("d")); n != 0 || err != io.ErrClosedPipe {
		t.Errorf("closed: %d, %v", n, err)
	}
}
