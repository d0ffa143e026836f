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

// tryAgain is called when attempt a failed with err. It returns nil if there now is another attempt,
// which has been sent everything that a was sent. Otherwise it returns the error that the RPC ends
// with: err, the error of a later attempt, or that of the wait for one.
func (cs *clientStream) tryAgain(a *attempt, err error) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.attempt != a:
		return nil // another goroutine has made it
	case cs.lost != nil:
		return cs.lost
	case cs.replay.Committed():
		return err
	}
	v := cs.judge(a, err)
	if !v.Retry {
		cs.commitLocked()
		if v.Exhausted > 0 {
			cs.lost = v.Explain(err)
			return cs.lost
		}
		return err
	}
	for v.Retry {
		a.superseded = true
		cs.end(a, err)
		if err = cs.cc.channel.Pause(cs.ctx, v.Delay); err != nil {
			break
		}
		a = &attempt{}
		if err = cs.startAgainLocked(a); err == nil {
			return nil
		}
		v = cs.judge(a, err)
	}
	err = v.Explain(err)
	cs.end(a, err)
	cs.lost = err
	cs.commitLocked()
	return err
}

// startAgainLocked starts a in place of the last attempt. If the program's code leaves it by a panic or runtime.Goexit,
// the RPC is lost.
func (cs *clientStream) startAgainLocked(a *attempt) (err error) {
	err = errUnreturned
	defer func() {
		if err == errUnreturned {
			cs.lost = err
			cs.commitLocked()
			defer cs.end(a, err)
			a.Fail(err)
		}
	}()
	if failed := cs.start(a, nil, false); failed != nil {
		return failed
	}
	cs.replaceLocked(a)
	return nil
}

// replaceLocked makes a the attempt that counts, and sends it what the previous one was sent.
func (cs *clientStream) replaceLocked(a *attempt) {
	cs.attempt = a
	i, n := 0, cs.replay.Messages()
	for m := range cs.keptLocked() {
		m.out.payload.Data.Ref()
		i++
		last := !cs.desc.ClientStreams || cs.replay.Ended() && i == n
		// Enqueue does not wait for room: that may depend on the receiver, which waits
		// for mu. The size of what is kept is bounded.
		if a.Stream.Enqueue(m.out.payload, last) != nil {
			return // the attempt is over, as the receiver will find out
		}
		cs.tellSent(a, m.msg, m.out.sizes())
	}
	if cs.replay.Ended() && n == 0 {
		_ = a.Stream.CloseSend() // the receiver will find out
	}
}

// commitLocked rules out another attempt, and frees what that would need.
func (cs *clientStream) commitLocked() {
	cs.tellCommit()
	cs.call = nil
	for _, m := range cs.replay.Commit() {
		m.out.payload.Data.Free()
	}
}

func (cs *clientStream) commit() {
	cs.mu.Lock()
	if !cs.replay.Committed() {
		cs.commitLocked()
	}
	cs.mu.Unlock()
}

// keep takes over a message that a was sent, and keeps it for other attempts. If a is no longer
// the attempt that counts, keep returns false and does not take the message over.
func (cs *clientStream) keep(a *attempt, m sentMessage) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.attempt != a {
		return false
	}
	if cs.replay.Committed() {
		m.out.payload.Data.Free()
		return true
	}
	if !cs.keepLocked(m) {
		cs.commitLocked()
	}
	return true
}

// keepEnd is like keep, for the end of what is sent.
func (cs *clientStream) keepEnd(a *attempt) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.attempt != a {
		return false
	}
	cs.replay.KeepEnd()
	return true
}

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
