// SPDX-License-Identifier: Apache-2.0

package gzip

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func compress(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := compressor{}.Compress(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decompress(r io.Reader) (string, error) {
	zr, err := compressor{}.Decompress(r)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(zr)
	return string(b), err
}

func TestRegistered(t *testing.T) {
	if encoding.GetCompressor("gzip") == nil || Name != "gzip" {
		t.Error("not registered as gzip")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("hello ", 100_000)} {
		z := compress(t, text)
		for name, r := range map[string]io.Reader{
			"with ReadByte":    bytes.NewReader(z),
			"without ReadByte": iotest.HalfReader(bytes.NewReader(z)),
			"byte by byte":     iotest.OneByteReader(bytes.NewReader(z)),
		} {
			if got, err := decompress(r); err != nil || got != text {
				t.Errorf("%d bytes %s: %d bytes, %v", len(text), name, len(got), err)
			}
		}
		if got := (compressor{}).DecompressedSize(z); got != len(text) {
			t.Errorf("%d bytes: size %d", len(text), got)
		}
	}
	for _, short := range [][]byte{nil, {0x1f, 0x8b}, make([]byte, 19)} {
		if got := (compressor{}).DecompressedSize(short); got != -1 {
			t.Errorf("%d bytes of input: size %d", len(short), got)
		}
	}
}

func TestTornInput(t *testing.T) {
	z := compress(t, "hello")
	for n := range z {
		if _, err := decompress(bytes.NewReader(z[:n])); err == nil {
			t.Errorf("the first %d of %d bytes pass", n, len(z))
		}
	}
	z[len(z)-5] ^= 1 // of the checksum
	if _, err := decompress(bytes.NewReader(z)); !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("a wrong checksum: %v", err)
	}
	if r, err := (compressor{}).Decompress(strings.NewReader("plain text")); r != nil || err == nil {
		t.Errorf("plain text: %v %v", r, err)
	}
}

func TestUseAfterEnd(t *testing.T) {
	z := compress(t, "first")
	first, err := compressor{}.Decompress(bytes.NewReader(z))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(first); err != nil {
		t.Fatal(err)
	}
	second, err := compressor{}.Decompress(bytes.NewReader(compress(t, "second")))
	if err != nil {
		t.Fatal(err)
	}
	// The first one's decoder may be the second one's now.
	if n, err := first.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("reading past the end: %d %v", n, err)
	}
	if b, err := io.ReadAll(second); err != nil || string(b) != "second" {
		t.Errorf("the other reader: %q %v", b, err)
	}

	w, _ := compressor{}.Compress(io.Discard)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Close() == nil {
		t.Error("a second Close passes")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("a Write after Close passes")
	}
}

func TestWriteErrorReachesClose(t *testing.T) {
	r, wr := io.Pipe()
	r.Close()
	w, err := compressor{}.Compress(wr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, "hello")
	if err := w.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close: %v", err)
	}
	// The pooled writer is as good as new.
	if got, err := decompress(bytes.NewReader(compress(t, "next"))); err != nil || got != "next" {
		t.Errorf("%q %v", got, err)
	}
}

func TestSetLevel(t *testing.T) {
	t.Cleanup(func() { _ = SetLevel(gzip.DefaultCompression) })
	text := strings.Repeat("hello world ", 1000)
	size := map[int]int{}
	for l := gzip.DefaultCompression; l <= gzip.BestCompression; l++ {
		if err := SetLevel(l); err != nil {
			t.Errorf("level %d: %v", l, err)
		}
		z := compress(t, text)
		size[l] = len(z)
		if got, err := decompress(bytes.NewReader(z)); err != nil || got != text {
			t.Errorf("level %d: %d bytes, %v", l, len(got), err)
		}
	}
	if size[gzip.NoCompression] < len(text) || size[gzip.BestCompression] > len(text)/10 {
		t.Errorf("sizes %v of %d", size, len(text))
	}
	for _, l := range []int{gzip.HuffmanOnly, 10, -3} {
		if SetLevel(l) == nil {
			t.Errorf("level %d passes", l)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 1000*(i+1))
			for range 20 {
				if got, err := decompress(bytes.NewReader(compress(t, text))); err != nil || got != text {
					t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzDecompress(f *testing.F) {
	f.Add(compress(f, ""))
	f.Add(compress(f, "hello hello hello"))
	f.Add(append(compress(f, "two "), compress(f, "members")...))
	f.Fuzz(func(t *testing.T, z []byte) {
		want, wantErr := "", error(nil)
		if r, err := gzip.NewReader(bytes.NewReader(z)); err != nil {
			wantErr = err
		} else {
			b, err := io.ReadAll(io.LimitReader(r, 1<<20))
			want, wantErr = string(b), err
		}
		r, err := compressor{}.Decompress(bytes.NewReader(z))
		got := ""
		if err == nil {
			var b []byte
			b, err = io.ReadAll(io.LimitReader(r, 1<<20))
			got = string(b)
		}
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%d bytes, %v; compress/gzip has %d, %v", len(got), err, len(want), wantErr)
		}
	})
}
