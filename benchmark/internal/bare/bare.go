// SPDX-License-Identifier: Apache-2.0

// Package bare carries unary calls over one connection with as little as they can do with:
// frames of eight bytes before each message, messages encoded and decoded by protobuf, a
// goroutine for each call on the server, and whoever writes takes along what others have
// queued. There are no methods, metadata, codes, deadlines, flow control or limits. So it is
// what gRPC is to be compared with where many callers share a connection.
package bare

import (
	"bufio"
	"encoding/binary"
	"net"
	"runtime"
	"sync"

	"google.golang.org/protobuf/proto"
)

const (
	headSize = 8 // length and call, 4 bytes each
	// readSize is what a side reads at a time. A frame may not be larger.
	readSize = 64 << 10
	// enough is how much is written at once, without letting others add to it.
	enough = 32 << 10
)

var frames = sync.Pool{New: func() any { return new([]byte) }}

// writer sends frames. Of several senders one writes, also what the others queue meanwhile.
type writer struct {
	conn net.Conn

	mu      sync.Mutex
	queue   []*[]byte
	queued  int // bytes
	writing bool
	err     error
}

// send queues a message of the given call, and writes it unless somebody writes already.
func (w *writer) send(call uint32, m proto.Message) error {
	p := frames.Get().(*[]byte)
	b, err := proto.MarshalOptions{}.MarshalAppend(append((*p)[:0], make([]byte, headSize)...), m)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-headSize))
	binary.BigEndian.PutUint32(b[4:], call)
	*p = b

	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue, w.queued = append(w.queue, p), w.queued+len(b)
	if w.writing {
		return w.err
	}
	w.writing = true
	if w.queued < enough {
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	for spare := []*[]byte(nil); len(w.queue) > 0 && w.err == nil; {
		batch := w.queue
		w.queue, w.queued = spare, 0
		w.mu.Unlock()
		err := w.write(batch)
		w.mu.Lock()
		w.err, spare = err, batch[:0]
	}
	w.writing = false
	return w.err
}

func (w *writer) write(batch []*[]byte) error {
	pieces := make(net.Buffers, len(batch))
	for i, p := range batch {
		pieces[i] = *p
	}
	_, err := pieces.WriteTo(w.conn)
	for i, p := range batch {
		frames.Put(p)
		batch[i] = nil
	}
	return err
}

// receive passes each message that arrives on, encoded as it is, until the connection ends.
func receive(conn net.Conn, pass func(call uint32, message []byte) error) error {
	r := bufio.NewReaderSize(conn, readSize)
	for {
		head, err := r.Peek(headSize)
		if err != nil {
			return err
		}
		length, call := int(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[4:])
		frame, err := r.Peek(headSize + length)
		if err != nil {
			return err
		}
		if err := pass(call, frame[headSize:]); err != nil {
			return err
		}
		if _, err := r.Discard(len(frame)); err != nil {
			return err
		}
	}
}
