// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
)

// lender is a pool that counts what is out.
type lender struct{ out int }

func (l *lender) Get(n int) *[]byte {
	l.out++
	return new(make([]byte, n))
}

func (l *lender) Put(*[]byte) { l.out-- }

// A message is the same whether it is one piece or several, some of them empty, and each piece goes
// back once.
func TestPieces(t *testing.T) {
	for _, parts := range [][]string{
		nil, {""}, {"a"}, {"", "a"}, {"a", ""}, {"", ""}, {"ab", "", "cd", "e"},
	} {
		var pool lender
		var list mem.BufferSlice
		for _, s := range parts {
			b := pool.Get(len(s))
			copy(*b, s)
			list = append(list, mem.NewBuffer(b, &pool))
		}
		p := PiecesOf(list)
		if len(list) == 1 {
			p = OnePiece(list[0])
		}
		want := strings.Join(parts, "")
		if got := string(p.Materialize()); got != want || p.Len() != len(want) {
			t.Errorf("%q: %q, of %d bytes", parts, got, p.Len())
		}
		n := 0
		for b := range p.All() {
			if string(b.ReadOnlyData()) != parts[n] {
				t.Errorf("%q: piece %d is %q", parts, n, b.ReadOnlyData())
			}
			n++
		}
		if n != len(parts) {
			t.Errorf("%q: %d pieces", parts, n)
		}
		again := p
		again.Ref()
		p.Free()
		if pool.out != len(parts) {
			t.Errorf("%q: %d are there while one holds them", parts, pool.out)
		}
		again.Free()
		if pool.out != 0 {
			t.Errorf("%q: %d are there while nobody holds them", parts, pool.out)
		}
	}
}
