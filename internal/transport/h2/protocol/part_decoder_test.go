// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// countingPool counts the buffers that are lent, and the largest of them.
type countingPool struct{ lent, largest int }

func (p *countingPool) Get(n int) *[]byte {
	p.lent++
	p.largest = max(p.largest, n)
	b := make([]byte, n)
	return &b
}

func (p *countingPool) Put(*[]byte) { p.lent-- }

var _ mem.BufferPool = (*countingPool)(nil)

// listOf is the fields of b.
func listOf(b *HeaderBlock) string {
	var l []string
	for i := range b.Len() {
		l = append(l, fmt.Sprintf("%s=%s", b.Name(i), b.Value(i)))
	}
	return strings.Join(l, " ")
}

// decodeIn decodes block in parts of size bytes.
func decodeIn(block []byte, size int, pool mem.BufferPool) (fields string, err error) {
	var dec hpack.Decoder
	var b HeaderBlock
	b.list.Reset(1 << 20)
	d := partDecoder{dec: &dec, list: &b.list, pool: pool, left: len(block)}
	defer d.close()
	for len(block) > 0 {
		n := min(size, len(block))
		if err := d.add(block[:n:n]); err != nil {
			return "", err
		}
		block = block[n:]
	}
	return listOf(&b), nil
}

func TestPartDecoder(t *testing.T) {
	var enc hpack.Encoder
	enc.Init(hpack.MaxEncoderTable)
	block := enc.Begin(nil)
	for i := range 40 {
		block = enc.AppendField(block, fmt.Sprint("name-", i%7), strings.Repeat("value", i*i), hpack.Indexing(i%3))
	}
	want, err := decodeIn(block, len(block), &countingPool{})
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < 600; size++ {
		var pool countingPool
		if got, err := decodeIn(block, size, &pool); got != want || err != nil {
			t.Fatalf("in parts of %d: error %v, %s", size, err, got)
		}
		if pool.lent != 0 {
			t.Fatalf("in parts of %d: %d buffers are not given back", size, pool.lent)
		}
	}
}

// TestPartDecoderRefusals: what is wrong with a block is wrong in parts, too, and what is
// declared and does not come takes no memory.
func TestPartDecoderRefusals(t *testing.T) {
	long := bytes.Repeat([]byte("a"), 100)
	for name, block := range map[string][]byte{
		"cut off":      append([]byte{0x82, 0x00, 0x7f, 0x00}, long...),
		"declared":     append([]byte{0x82, 0x00, 0x7f, 0xff, 0xff, 0xff, 0x0f}, long...),
		"integer":      append(append([]byte{0x00, 100}, long...), 0x7f, 0x80),
		"no such":      append(append([]byte{0x00, 100}, long...), 0, 0xff, 0x10),
		"late update":  append(append([]byte{0x00, 100}, long...), 0, 0x20, 0x82),
		"only updates": bytes.Repeat([]byte{0x3f, 0xff, 0x7f}, 40),
	} {
		_, want := decodeIn(block, len(block), &countingPool{})
		if want == nil {
			t.Fatalf("%s is accepted", name)
		}
		for size := 1; size < len(block); size++ {
			var pool countingPool
			if _, err := decodeIn(block, size, &pool); fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%s in parts of %d: %v, want %v", name, size, err, want)
			}
			if pool.lent != 0 || pool.largest > len(block) {
				t.Errorf("%s in parts of %d: %d buffers of up to %d bytes", name, size, pool.lent, pool.largest)
			}
		}
	}
}
