// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// FuzzPooled runs the same calls on pooled and on a bufio.Reader over the same
// bytes, which arrive in chunks and with moments without input between them.
//
// In plan each pair of bytes is a call and its argument; in cuts each byte is
// the length of a chunk, and zero a moment without input.
func FuzzPooled(f *testing.F) {
	data := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog."), 60)
	f.Add(data, []byte{3, 9, 0, 9, 250, 1, 0, 80}, []byte{0, 9, 1, 9, 2, 40, 3, 200})
	f.Add(data, []byte{1}, []byte{0, 9, 1, 9, 0, 200, 1, 200, 4, 9, 1, 9})
	f.Add(data[:70], []byte{65, 0, 5}, []byte{0, 70, 4, 128, 1, 70, 0, 1})
	f.Add(data, []byte{100, 0, 100}, []byte{0, 128, 1, 3, 0, 128, 2, 255, 2, 255})
	f.Fuzz(func(t *testing.T, data, cuts, plan []byte) {
		s := newScript(t, cut(data, cuts)...)
		s.noPlace = len(cuts)%2 == 1
		s.atWait = func() {
			if _, held := s.pool.held(); held > minSize {
				t.Fatalf("%d bytes held at a wait", held)
			}
		}
		got := s.buffered(minSize)
		want := bufio.NewReaderSize(bytes.NewReader(data), 1<<12)
		for ; len(plan) >= 2; plan = plan[2:] {
			step(t, got, want, plan[0]%5, int(plan[1]))
		}
		rest, _ := io.ReadAll(got)
		wantRest, _ := io.ReadAll(want)
		if !bytes.Equal(rest, wantRest) {
			t.Fatalf("rest differs: %d bytes, want %d", len(rest), len(wantRest))
		}
		if n, _ := s.pool.held(); n != 0 {
			t.Fatalf("%d buffers held at the end", n)
		}
	})
}

// step does one call on both and compares. Read may return less on either side,
// so it is the oracle that follows.
func step(t *testing.T, got Buffered, want *bufio.Reader, op byte, n int) {
	switch op {
	case 0, 4:
		peek := got.Peek
		if op == 4 {
			peek = got.TryPeek
		}
		p, err := peek(n)
		q, _ := want.Peek(n)
		switch {
		case err == ErrWouldBlock && op == 4:
		case n > minSize:
			if err != errTooLarge {
				t.Fatalf("Peek(%d): %v", n, err)
			}
		case err == nil && !bytes.Equal(p, q), err != nil && len(q) == n:
			t.Fatalf("Peek(%d) = %q, %v; want %q", n, p, err, q)
		}
	case 1:
		k, err := got.Discard(n)
		wantK, wantErr := want.Discard(n)
		if k != wantK || (err == nil) != (wantErr == nil) {
			t.Fatalf("Discard(%d) = %d, %v; want %d, %v", n, k, err, wantK, wantErr)
		}
	case 2, 3:
		p := make([]byte, n)
		k, err := got.Read(p)
		q := make([]byte, k)
		if _, wantErr := io.ReadFull(want, q); wantErr != nil || !bytes.Equal(p[:k], q) {
			t.Fatalf("Read(%d) = %q, %v; want %q", n, p[:k], err, q)
		}
		if k == 0 && n > 0 {
			if _, wantErr := want.ReadByte(); wantErr != io.EOF || err != io.EOF {
				t.Fatalf("Read(%d) = 0, %v; want %v", n, err, wantErr)
			}
		}
	}
}

func cut(data, cuts []byte) []string {
	var chunks []string
	for _, c := range cuts {
		n := min(int(c), len(data))
		chunks = append(chunks, string(data[:n]))
		data = data[n:]
	}
	if len(data) > 0 {
		chunks = append(chunks, string(data))
	}
	return chunks
}
