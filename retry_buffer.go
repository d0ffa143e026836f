// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"iter"

	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/mem"
)

// sentMessage is a message that is kept for other attempts. It holds a reference of its own.
type sentMessage struct {
	out outMessage
	msg any
	run *sentRun // several small messages in place of out and msg; mostly nil
}

// sentRun is a number of small messages that are kept together.
type sentRun struct {
	retry.Run
	msgs []any // the messages before encoding, for stats handlers; empty if there are none
}

const (
	// keptWhole is how many messages are kept as they are, which costs no more than a reference.
	// Most RPCs send no more messages before they are committed.
	keptWhole = 8
	// keptTogether is the largest size, in bytes, of a later message that is copied to a Run.
	keptTogether = 1 << 10
)

// keptSize returns how much of the buffer for retries a message takes: its bytes and the prefix, as in
// the published module.
func keptSize(m *outMessage) int { return m.payload.Data.Len() + transport.FramingLen }

// keepLocked takes over a message, and keeps it for other attempts. It returns false if the kept messages
// now exceed the limit.
func (cs *clientStream) keepLocked(m sentMessage) bool {
	n, size := m.out.payload.Data.Len(), keptSize(&m.out)
	sent := cs.replay.Sent()
	if len(sent) < keptWhole || n > keptTogether || m.out.plain != nil {
		return cs.replay.Keep(m, size, cs.info.retryBuffer)
	}
	run := sent[len(sent)-1].run
	if run == nil || !run.HasRoom(n) {
		var last *retry.Run
		if run != nil {
			last = &run.Run
		}
		run = &sentRun{Run: retry.NewRun(last, n)}
		cs.replay.Begin(sentMessage{run: run})
	}
	run.Add(n, m.out.length, m.out.payload.Compressed, func(yield func([]byte) bool) {
		for b := range m.out.payload.Data.All() {
			if !yield(b.ReadOnlyData()) {
				return
			}
		}
	})
	m.out.payload.Data.Free()
	if cs.tellsMessages() {
		run.msgs = append(run.msgs, m.msg)
	}
	return cs.replay.Extend(size, cs.info.retryBuffer)
}

// keptLocked yields the messages that are kept, in the order in which they were sent.
func (cs *clientStream) keptLocked() iter.Seq[sentMessage] {
	return func(yield func(sentMessage) bool) {
		for _, m := range cs.replay.Sent() {
			if m.run == nil {
				if !yield(m) {
					return
				}
				continue
			}
			i := 0
			for s := range m.run.All() {
				one := sentMessage{out: outMessage{length: s.Length}}
				one.out.payload.Data = transport.OnePiece(mem.SliceBuffer(s.Body))
				one.out.payload.Compressed = s.Compressed
				if i < len(m.run.msgs) {
					one.msg = m.run.msgs[i]
				}
				i++
				if !yield(one) {
					return
				}
			}
		}
	}
}
