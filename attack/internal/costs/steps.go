// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"strings"

	"google.golang.org/grpc/attack/internal/wire"
)

// steps are what a script can do. The second argument chooses a size, a stream, or a kind.
var steps = []func(w *writer, arg int){
	(*writer).call,
	func(w *writer, arg int) { w.reply(arg) },
	func(w *writer, arg int) { w.body(arg, 0, wire.AppendMessage(nil, 0, make([]byte, arg))) },
	func(w *writer, arg int) { w.body(arg, 0, append(wire.AppendPrefix(nil, 0, uint32(1<<20+arg)), 0)) },
	func(w *writer, arg int) { w.body(arg, 0, tinyMessages(8*arg)) },
	func(w *writer, arg int) { w.body(arg, 0, nil) },
	func(w *writer, arg int) { w.body(arg, wire.Padded, append([]byte{byte(arg)}, make([]byte, arg)...)) },
	func(w *writer, arg int) { w.body(arg, wire.EndStream, nil) },
	func(w *writer, arg int) {
		if id := w.stream(arg); id != 0 {
			w.frame(wire.RSTStream, 0, id, wire.Uint32(wire.Cancel))
		}
	},
	func(w *writer, arg int) {
		if id := w.stream(arg); id != 0 {
			w.frame(wire.WindowUpdate, 0, id, wire.Uint32(1))
		}
	},
	func(w *writer, arg int) { w.frame(wire.WindowUpdate, 0, 0, wire.Uint32(uint32(arg)+1)) },
	func(w *writer, _ int) { w.frame(wire.Ping, 0, 0, make([]byte, 8)) },
	func(w *writer, arg int) { w.frame(wire.Settings, 0, 0, settings(arg)) },
	func(w *writer, arg int) {
		if id := w.stream(arg); id != 0 {
			w.frame(wire.Priority, 0, id, []byte{0, 0, 0, 0, byte(arg)})
		}
	},
	func(w *writer, arg int) { w.frame(0xfa, byte(arg), uint32(arg&1), make([]byte, 64*arg)) },
	func(w *writer, arg int) {
		if !w.onClient { // one of a server's ends its client's calls
			w.frame(wire.GoAway, 0, 0, append(append(wire.Uint32(1<<31-1), wire.Uint32(0)...), make([]byte, 64*arg)...))
		}
	},
	func(w *writer, arg int) { // a new entry
		w.block.b = wire.AppendNew(w.block.b, name(arg), value(arg))
		w.block.enter(len(name(arg)) + len(value(arg)) + entryOctets)
	},
	func(w *writer, arg int) { // a field that enters no table
		w.block.b = wire.AppendField(w.block.b, name(arg), value(arg))
		w.block.list += len(name(arg)) + len(value(arg)) + entryOctets
	},
	func(w *writer, arg int) { // a reference
		if n := len(w.block.table); n > 0 {
			w.block.b = wire.AppendRef(w.block.b, uint64(wire.FirstDynamic+arg%n))
			w.block.list += w.block.table[arg%n]
		}
	},
	func(w *writer, arg int) { // an entry, and a reference to it
		w.block.b = wire.AppendRef(wire.AppendNew(w.block.b, name(arg), value(arg)), wire.FirstDynamic)
		w.block.enter(len(name(arg)) + len(value(arg)) + entryOctets)
		w.block.list += w.block.table[0]
	},
	func(w *writer, arg int) { // trailers
		if id := w.stream(arg); id != 0 {
			w.headers(id, wire.EndStream, w.trailers(), 16<<10)
		}
	},
	func(w *writer, arg int) { // a call, or a reply, in small frames
		switch {
		case !w.onClient && w.Streams < maxOpen:
			w.Streams++
			w.open = append(w.open, w.next)
			w.headers(w.next, 0, wire.Request(methods[arg%2]), arg+1)
			w.next += 2
		case w.onClient:
			w.headers(w.stream(arg), 0, wire.Response(), arg+1)
		}
	},
}

// reply begins an answer with what was collected, or sends one of 1xx, where the victim is a client.
func (w *writer) reply(arg int) {
	switch {
	case !w.onClient:
	case arg >= 128:
		w.headers(w.stream(arg), 0, wire.AppendField(nil, ":status", "103"), 16<<10)
	default:
		w.headers(w.stream(arg), 0, wire.Response(), 16<<10)
	}
}

func (w *writer) trailers() []byte {
	if w.onClient {
		return wire.Trailers()
	}
	return nil
}

// name and value are those of a field; one in four is binary.
func name(arg int) string {
	if arg%4 == 3 {
		return "x-bin"
	}
	return "x-" + string(rune('a'+arg%7))
}

func value(arg int) string { return strings.Repeat("AAAA", 2*arg) }

func tinyMessages(n int) []byte {
	var b []byte
	for len(b) < n {
		b = wire.AppendMessage(b, 0, nil)
	}
	return b
}

// settings has one setting change as often as the argument says.
func settings(arg int) []byte {
	ids := []struct {
		id        uint16
		low, high uint32
	}{
		{wire.InitialWindowSize, 0, 65535},
		{wire.HeaderTableSize, 0, 4096},
		{wire.MaxFrameSize, 16 << 10, 1 << 20},
		{wire.MaxConcurrentStreams, 0, 100},
		{wire.MaxHeaderListSize, 1 << 10, 1 << 20},
		{0xabcd, 0, 1},
	}
	s := ids[arg%len(ids)]
	var b []byte
	for range 1 + arg*4 {
		b = wire.AppendSettings(b, wire.Setting{ID: s.id, Value: s.low}, wire.Setting{ID: s.id, Value: s.high})
	}
	return b
}
