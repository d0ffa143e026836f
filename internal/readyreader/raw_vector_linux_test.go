// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// pieces divides p at random, with empty pieces between, into more than one call takes.
func pieces(p []byte) (list [][]byte) {
	for len(p) > 0 {
		n := min(rand.IntN(1<<rand.IntN(16)), len(p))
		list = append(list, p[:n])
		p = p[n:]
	}
	return list
}

func vectorWriterFor(t *testing.T, conn net.Conn) Layer {
	t.Helper()
	w := NewSocket(conn)
	if !w.Can().Has(TakesVectors) {
		t.Fatalf("%T takes no vectors", w.Layer)
	}
	return w.Layer
}

func TestWriteVector(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		w := vectorWriterFor(t, self)
		if n, err := w.TryWriteVector(nil); n != 0 || err != nil {
			t.Fatalf("nothing: %d, %v", n, err)
		}
		if n, err := w.TryWriteVector([][]byte{nil, {}}); n != 0 || err != nil {
			t.Fatalf("empty pieces: %d, %v", n, err)
		}
		chunk := make([]byte, 32<<20) // more than the system buffers
		_, _ = rand.NewChaCha8([32]byte{}).Read(chunk)
		sent := 0
		for {
			n, err := w.TryWriteVector(pieces(chunk[sent:min(sent+64<<10, len(chunk))]))
			sent += n
			if err == ErrWouldBlock {
				break
			}
			if n == 0 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		got := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(peer)
			got <- b
		}()
		// The blocking method goes on where the attempt stopped.
		if n, err := w.WriteVector(pieces(chunk[sent:])); n != len(chunk)-sent || err != nil {
			t.Fatalf("WriteVector: %d, %v", n, err)
		}
		closeWrite(t, self)
		if !bytes.Equal(<-got, chunk) {
			t.Error("the peer got something else")
		}
		_, err := w.TryWriteVector([][]byte{{1}})
		if !errors.Is(err, errShutDown) {
			t.Errorf("after CloseWrite: %v", err)
		}
		wantOpError(t, err, "write")
		self.Close()
		if _, err = w.WriteVector([][]byte{{1}}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		wantOpError(t, err, "write")
	})
}

// What a deadline has ended says how much was written.
func TestWriteVectorDeadline(t *testing.T) {
	self, peer := connPair(t, "tcp")
	w := vectorWriterFor(t, self)
	self.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	n, err := w.WriteVector([][]byte{make([]byte, 32<<20), {1}})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d, %v", n, err)
	}
	closeWrite(t, self)
	if got, _ := io.Copy(io.Discard, peer); got != int64(n) {
		t.Errorf("the peer has %d bytes, want %d", got, n)
	}
}
