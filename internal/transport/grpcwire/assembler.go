// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/binary"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

const (
	// minStep is the length of the first buffer that a message gets from the pool, unless the message is
	// shorter.
	minStep = 256
	// scratch is how many bytes are read at a time from a body that nobody wants.
	scratch = 512
	// exactFrom is the length from which the memory of a message should not be much larger than the
	// message: a program may keep it.
	exactFrom = 64 << 10
)

// An Assembler puts the messages of one stream together from the payloads of its DATA
// frames. The reader of the connection asks for Space, puts bytes there, and says with
// Filled how many.
//
// It holds a buffer only while a message is incomplete. Whatever length the peer declared,
// and apart from what the pool rounds sizes up by, that buffer is never longer than the
// largest of these three: 256 bytes; twice what has arrived; what has arrived and as much
// as the reader allowed to be reserved ahead.
//
// It is meant to be embedded by value. One goroutine uses it at a time.
type Assembler struct {
	pool *mem.BufferPool // points to the owner's, which is smaller than a copy
	buf  *[]byte         // of the message in assembly; nil before its body begins

	limit uint32
	have  uint32 // bytes of the body that are in buf

	prefix  [PrefixLen]byte
	nPrefix uint8 // bytes of the prefix that have arrived
	fault   fault // why Filled failed; nothing is accepted after it
}

// Init prepares the zero Assembler. Messages longer than limit are refused (a negative
// limit is 0).
func (a *Assembler) Init(pool *mem.BufferPool, limit int) {
	*a = Assembler{pool: pool, limit: clampLen(limit)}
}

// Space returns memory for the next bytes of the stream: at most n bytes, where n is what is left of the
// DATA payload. ahead is how many bytes may be reserved for what has not been put there yet: a few times
// what has arrived already, or more if the caller trusts the peer with more. If ahead is 0, Space may be
// empty before a message's body; the caller asks again when some of the body has arrived. Otherwise it is
// empty only for n <= 0. Each call replaces the one before; the slice must not be used after Filled or
// Abort.
func (a *Assembler) Space(n, ahead int) []byte {
	var free []byte
	switch {
	case a.fault != noFault:
		return make([]byte, max(0, min(n, scratch))) // read and forgotten
	case a.nPrefix < PrefixLen:
		free = a.prefix[a.nPrefix:]
	default:
		if !a.reserve(ahead) {
			return nil
		}
		free = (*a.buf)[a.have:]
	}
	return free[:max(0, min(n, len(free)))]
}

// Filled takes the first n bytes of what Space returned last. complete reports whether they were the end of
// a message, which is then m.
//
// An error concerns the whole stream, and is final: a *[SizeError] (ResourceExhausted) or a *[FlagError]
// (Internal); both carry their status. Later calls return it again.
func (a *Assembler) Filled(n int) (m Message, complete bool, err error) {
	switch {
	case a.fault != noFault:
		return Message{}, false, a.failure()
	case n < 0 || n > a.room():
		return Message{}, false, a.fail(overfilled)
	case n == 0:
		return Message{}, false, nil
	case a.nPrefix == PrefixLen:
		a.have += uint32(n)
	default:
		a.nPrefix += uint8(n)
		if a.nPrefix < PrefixLen {
			return Message{}, false, nil
		}
		if fault := a.begin(); fault != noFault {
			return Message{}, false, a.fail(fault)
		}
	}
	if a.have < a.need() {
		return Message{}, false, nil
	}
	return a.finish(), true, nil
}

// Take is Space and Filled for bytes that lie elsewhere: it copies from p until a message is complete, or p
// is used up, and returns how many bytes it has copied.
func (a *Assembler) Take(p []byte, ahead int) (n int, m Message, complete bool, err error) {
	if n = a.whole(p); n > 0 {
		return n, a.finish(), true, nil
	}
	for n < len(p) && !complete && err == nil {
		k := copy(a.Space(len(p)-n, ahead), p[n:])
		n += k
		m, complete, err = a.Filled(k)
	}
	return n, m, complete, err
}

// SmallNext reports whether p begins with a whole message that is small and breaks no rule.
func (a *Assembler) SmallNext(p []byte) bool {
	if a.nPrefix > 0 || a.fault != noFault {
		return false
	}
	_, ok := smallAt(p, min(a.limit, smallMax))
	return ok
}

// TakeSmall is Take for all small messages (see SmallNext) at the beginning of p that r has room for. It
// adds them to r. n is how many bytes of p they take.
func (a *Assembler) TakeSmall(p []byte, r *Run) (n, messages int) {
	return r.take(p, min(a.limit, smallMax))
}

// whole is Take for a message that lies in p from its beginning to its end, as small ones mostly do. For
// any other message, and for one that breaks a rule, it does nothing and returns 0.
func (a *Assembler) whole(p []byte) (n int) {
	if a.nPrefix > 0 || a.fault != noFault || len(p) <= PrefixLen {
		return 0
	}
	need := binary.BigEndian.Uint32(p[1:])
	if p[0] > 1 || need == 0 || need > a.limit || uint64(need) > uint64(len(p)-PrefixLen) {
		return 0
	}
	copy(a.prefix[:], p)
	a.begin()
	a.reserve(int(need))
	copy(*a.buf, p[PrefixLen:])
	return PrefixLen + int(need)
}

// Reuse takes the memory of m, a small message that was copied, for the next one. m must
// not be used afterwards.
func (a *Assembler) Reuse(m Message) {
	if m.Data.pool == nil && m.Len > 0 && a.buf == nil {
		a.buf = m.Data.p
	}
}

// Missing returns how many bytes the message in assembly still lacks, as far as that is
// known: those of the prefix until it is complete, then those of the body. Between
// messages it is 0.
func (a *Assembler) Missing() int {
	switch {
	case !a.InMessage():
		return 0
	case a.nPrefix < PrefixLen:
		return PrefixLen - int(a.nPrefix)
	}
	return int(a.need() - a.have)
}

// InMessage reports whether a message has begun and is incomplete.
func (a *Assembler) InMessage() bool { return a.nPrefix > 0 }

// Held returns the memory, in bytes, of the message in assembly.
func (a *Assembler) Held() int {
	switch {
	case a.buf == nil:
		return 0
	case cap(*a.buf) <= smallMax:
		return smallSize(cap(*a.buf))
	}
	return cap(*a.buf) + headerSize
}

// End must be called at END_STREAM. It returns errUnexpectedEnd in the middle of a message, the error of
// Filled if there was one, else nil.
func (a *Assembler) End() error {
	if a.InMessage() {
		return errUnexpectedEnd
	}
	return a.failure()
}

// Abort gives the partial buffer back and forgets the message in assembly. It may be
// called at any time, also more than once.
func (a *Assembler) Abort() {
	a.free()
	a.buf, a.have, a.nPrefix = nil, 0, 0
}

// begin checks a complete prefix.
func (a *Assembler) begin() fault {
	if a.prefix[0] > 1 {
		return badFlag
	}
	if a.need() > a.limit {
		return tooLong
	}
	if a.buf != nil { // left by Reuse
		if a.need() > 0 && int(a.need()) <= cap(*a.buf) {
			*a.buf = (*a.buf)[:a.need()]
		} else {
			a.buf = nil
		}
	}
	return noFault
}

// need returns the declared length, once the prefix is complete.
func (a *Assembler) need() uint32 { return binary.BigEndian.Uint32(a.prefix[1:]) }

// free gives the buffer back if it is the pool's: the pool's buffers are longer than smallMax.
func (a *Assembler) free() {
	if a.buf != nil && cap(*a.buf) > smallMax {
		(*a.pool).Put(a.buf)
	}
}

// room returns how many bytes the last Space had room for.
func (a *Assembler) room() int {
	switch {
	case a.nPrefix < PrefixLen:
		return PrefixLen - int(a.nPrefix)
	case a.buf == nil:
		return 0
	}
	return len(*a.buf) - int(a.have)
}

// reserve makes room behind the bytes that have arrived, so that buf is longer than have. It reports false if
// there is no buffer yet and none may be reserved.
func (a *Assembler) reserve(ahead int) bool {
	switch {
	case a.buf == nil && ahead <= 0:
		return false
	case a.buf == nil && a.need() <= smallMax:
		a.buf = newSmall(int(a.need()))
	case a.buf == nil && ahead <= smallMax:
		a.buf = newSmall(ahead)
		*a.buf = (*a.buf)[:cap(*a.buf)]
	case a.buf == nil:
		a.buf = a.get(max(uint64(ahead), minStep))
	case int(a.have) == len(*a.buf):
		grown := a.get(max(uint64(a.have)+max(uint64(max(ahead, 0)), uint64(a.have)), minStep))
		copy(*grown, *a.buf)
		a.free()
		a.buf = grown
	}
	return true
}

// get returns a buffer of n bytes and what the pool gives beyond that, but never of more
// than the message needs.
func (a *Assembler) get(n uint64) *[]byte {
	var b *[]byte
	if e, ok := (*a.pool).(internalmem.ExactGetter); ok && n >= uint64(a.need()) && a.mayBeKept() {
		b = e.GetExact(int(a.need()))
	} else {
		b = (*a.pool).Get(int(min(n, uint64(a.need()))))
	}
	*b = (*b)[:min(cap(*b), int(a.need()))]
	return b
}

// mayBeKept reports whether the receiver may keep the memory of the message.
func (a *Assembler) mayBeKept() bool { return a.need() >= exactFrom && a.prefix[0] == 0 }

// finish hands the message over and leaves the Assembler between messages.
func (a *Assembler) finish() Message {
	m := Message{Data: emptyBytes, Compressed: a.prefix[0] == 1, Len: int(a.need()), Held: uint32(a.Held())}
	switch {
	case a.buf == nil: // an empty message
	case a.need() <= smallMax:
		m.Data = Bytes{p: a.buf}
	default:
		m.Data = Bytes{a.buf, a.pool}
	}
	a.buf, a.have, a.nPrefix = nil, 0, 0
	return m
}

// fail frees the buffer and makes f final.
func (a *Assembler) fail(f fault) error {
	a.Abort()
	a.fault = f
	return a.failure()
}

// failure returns the error for a's fault, or nil if there is none. It reads the prefix of the message at
// fault, which is still there.
func (a *Assembler) failure() error {
	switch a.fault {
	case badFlag:
		return &FlagError{Flag: a.prefix[0]}
	case tooLong:
		return &SizeError{Size: a.need(), Limit: a.limit}
	case overfilled:
		return errOverfilled
	}
	return nil
}

// clampLen brings a length that the application set into the range of a Message-Length.
func clampLen(n int) uint32 {
	return uint32(min(uint64(max(n, 0)), MaxMessageLen))
}
