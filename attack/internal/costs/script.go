// SPDX-License-Identifier: Apache-2.0

// Package costs attacks a server or a client in its own process with frames that a few bytes choose,
// each of which has a price, and measures what they cost: processor time, what is allocated, what is
// held, and what is left.
package costs

import (
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

// Bounds of one script.
const (
	maxData = 60_000  // bytes in DATA frames, which fit into the first window of a connection
	maxList = 8 << 20 // octets of header lists, as RFC 9113 counts them
	maxOpen = 1000    // streams
	maxSend = 16      // of them, whose handlers send without end
)

// Script is what an attacker sends, and its price.
type Script struct {
	Sent    []byte // behind the handshake
	List    int    // octets of the header lists in it
	Streams int    // that it opens
	Sending int    // streams whose handlers send without end
}

// MaxSent is how many bytes a script may have: as many as it takes for what is quadratic to be seen.
const MaxSent = 2 << 20

// writer makes a script of the bytes that choose it.
type writer struct {
	Script
	onClient bool
	room     int // bytes
	data     int
	next     uint32   // stream to open
	open     []uint32 // streams
	block    block
}

// asking is which of the methods has a handler that wants the metadata.
const asking = 2

// methods are what a script may call.
var methods = []string{orders.Sink, orders.Deaf, orders.Asks, orders.Trickle, orders.Echo, "/no.Such/Method"}

// Write makes a script of some bytes at most. Three bytes of the program are a step: what is done, how
// often, and to what.
func Write(onClient bool, program []byte, room int) Script {
	w := &writer{onClient: onClient, room: room, next: 1}
	if onClient {
		w.open = []uint32{1, 3, 5, 7} // those that the client opens
	}
	for ; len(program) >= 3 && w.hasRoom(); program = program[3:] {
		do := steps[int(program[0])%len(steps)]
		for range 1 << (program[1] & 15) {
			if !w.hasRoom() {
				break
			}
			do(w, int(program[2]))
		}
	}
	if len(w.block.b) > 0 { // what was collected is sent in any case, to somebody who looks at it
		w.call(asking)
		w.reply(0)
	}
	return w.Script
}

func (w *writer) hasRoom() bool {
	return len(w.Sent)+len(w.block.b) < w.room && w.List+w.block.list < maxList
}

func (w *writer) frame(typ, flags byte, stream uint32, payload []byte) {
	w.Sent = wire.AppendFrame(w.Sent, wire.Frame{Type: typ, Flags: flags, Stream: stream, Payload: payload})
}

// stream is one that is open, or was.
func (w *writer) stream(arg int) uint32 {
	if len(w.open) == 0 {
		return 0
	}
	return w.open[arg%len(w.open)]
}

// call opens a stream with what was collected for its header block.
func (w *writer) call(arg int) {
	if w.onClient || w.Streams == maxOpen {
		return
	}
	method := methods[arg%len(methods)]
	if method == orders.Trickle {
		if w.Sending == maxSend {
			return
		}
		w.Sending++
	}
	w.Streams++
	w.open = append(w.open, w.next)
	w.headers(w.next, 0, wire.Request(method), 16<<10)
	w.next += 2
}

// headers sends a block that begins with some fields and goes on with what was collected, in frames of
// n bytes at most.
func (w *writer) headers(stream uint32, flags byte, begin []byte, n int) {
	b := append(begin, w.block.b...)
	w.List += w.block.list + 10*len(begin)
	w.block.b, w.block.list = nil, 0
	for typ := wire.Headers; ; typ, flags = wire.Continuation, 0 {
		if len(b) <= n {
			w.frame(typ, flags|wire.EndHeaders, stream, b)
			return
		}
		w.frame(typ, flags, stream, b[:n])
		b = b[n:]
	}
}

// body sends DATA, where the window has room.
func (w *writer) body(arg int, flags byte, payload []byte) {
	if id := w.stream(arg); id != 0 && w.data+len(payload) <= maxData {
		w.data += len(payload)
		w.frame(wire.Data, flags, id, payload)
	}
}

// block is a header block that is being collected, with the table that it makes.
type block struct {
	b     []byte
	list  int   // octets
	table []int // octets of the entries, the newest first
}

const (
	entryOctets = 32 // RFC 7541, 4.1
	tableOctets = 4096
)

func (b *block) enter(octets int) {
	b.list += octets
	b.table = append([]int{octets}, b.table...)
	for total, i := 0, 0; i < len(b.table); i++ {
		if total += b.table[i]; total > tableOctets {
			b.table = b.table[:i]
		}
	}
}
