// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/binary"
	"errors"

	"google.golang.org/grpc/mem"
)

const (
	// DefaultUpFront is the length up to which a message gets its whole buffer as soon
	// as its first byte is there.
	DefaultUpFront = 256 << 10

	// minStep is the first buffer of a message that is longer than a tiny upFront.
	minStep = 4 << 10
)

// A Message is one Length-Prefixed-Message as it was received.
type Message struct {
	// Data is one contiguous buffer, never nil; the receiver owns it and frees it once.
	// That of an empty message is a shared value for which Free does nothing.
	Data       mem.Buffer
	Compressed bool // the Compressed-Flag
	Len        int  // the Message-Length: size on the wire, without the prefix
}

// An Assembler puts the messages of one stream together from the payloads of its DATA
// frames. The reader of the connection asks for Space, puts bytes there, and says with
// Filled how many; [Assembler.Feed] does that for bytes that are in memory already.
//
// It holds a buffer only while a message is incomplete and at least one byte of its body
// was announced by a frame. That buffer is never larger than the greater of upFront and
// four times what has arrived, whatever length the peer declared.
//
// It is meant to be embedded by value. One goroutine uses it at a time.
type Assembler struct {
	pool mem.BufferPool
	buf  *[]byte // of the message in assembly; nil in front of its body
	err  error   // what Filled returned; nothing is accepted after it

	limit   uint32
	upFront uint32
	need    uint32 // declared length, once the prefix is complete
	have    uint32 // bytes of the body that are in buf

	prefix  [PrefixLen]byte
	nPrefix uint8 // bytes of the prefix that are there
}

// Init prepares the zero Assembler. Messages longer than limit are refused (a negative
// limit is 0). The buffer of a message not longer than upFront bytes is allocated at
// once, that of a longer one grows as bytes arrive; upFront <= 0 is [DefaultUpFront].
func (a *Assembler) Init(pool mem.BufferPool, limit, upFront int) {
	*a = Assembler{pool: pool, limit: clampLen(limit)}
	a.SetUpFront(upFront)
}

// SetUpFront changes the length up to which a message is allocated at once, for example to
// a stream window that has grown; it holds from the next buffer on.
func (a *Assembler) SetUpFront(n int) {
	if n <= 0 {
		n = DefaultUpFront
	}
	a.upFront = max(clampLen(n), minStep)
}

// Space returns where the next bytes of the stream go: at most n of them, n being what
// is left of the DATA payload. It is empty only for n <= 0. Each call replaces the one
// before; the slice must not be used after Filled or Abort.
func (a *Assembler) Space(n int) []byte {
	var free []byte
	switch {
	case a.err != nil:
		free = a.prefix[:] // read and forgotten
	case a.nPrefix < PrefixLen:
		free = a.prefix[a.nPrefix:]
	default:
		a.reserve()
		free = (*a.buf)[a.have:]
	}
	return free[:max(0, min(n, len(free)))]
}

// Filled takes the first n bytes of what Space returned last. complete reports that they
// were the end of a message, which is then m.
//
// An error is for the stream, and final: a *[SizeError] (ResourceExhausted) or a
// *[FlagError] (Internal); both carry their status. Later calls return it again.
func (a *Assembler) Filled(n int) (m Message, complete bool, err error) {
	switch {
	case a.err != nil:
		return Message{}, false, a.err
	case n < 0 || n > a.free():
		return Message{}, false, a.fail(errOverfilled)
	case n == 0:
		return Message{}, false, nil
	case a.nPrefix == PrefixLen:
		a.have += uint32(n)
	default:
		a.nPrefix += uint8(n)
		if a.nPrefix < PrefixLen {
			return Message{}, false, nil
		}
		if err := a.begin(); err != nil {
			return Message{}, false, a.fail(err)
		}
	}
	if a.have < a.need {
		return Message{}, false, nil
	}
	return a.finish(), true, nil
}

// Feed copies bytes of p into the message in assembly, up to its end, and returns how
// many it took: all of p unless complete or an error says otherwise.
func (a *Assembler) Feed(p []byte) (n int, m Message, complete bool, err error) {
	for n < len(p) && !complete && err == nil {
		k := copy(a.Space(len(p)-n), p[n:])
		n += k
		m, complete, err = a.Filled(k)
	}
	return n, m, complete, err
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
	return int(a.need - a.have)
}

// InMessage reports whether a message has begun and is incomplete.
func (a *Assembler) InMessage() bool { return a.nPrefix > 0 }

// Held returns the size, in bytes, of the buffer of the message in assembly.
func (a *Assembler) Held() int {
	if a.buf == nil {
		return 0
	}
	return cap(*a.buf)
}

// End is to be called at END_STREAM: it returns [ErrUnexpectedEnd] in the middle of a
// message, the error of Filled if there was one, else nil.
func (a *Assembler) End() error {
	if a.err == nil && a.InMessage() {
		return ErrUnexpectedEnd
	}
	return a.err
}

// Abort gives the partial buffer back and forgets the message in assembly. It may be
// called at any time, also more than once.
func (a *Assembler) Abort() {
	if a.buf != nil && a.need > smallMax {
		a.pool.Put(a.buf)
	}
	a.buf, a.need, a.have, a.nPrefix = nil, 0, 0, 0
}

// begin judges a complete prefix.
func (a *Assembler) begin() error {
	if flag := a.prefix[0]; flag > 1 {
		return &FlagError{Flag: flag}
	}
	a.need = binary.BigEndian.Uint32(a.prefix[1:])
	if a.need > a.limit {
		return &SizeError{Size: a.need, Limit: a.limit}
	}
	return nil
}

// free is the number of bytes behind the last Space.
func (a *Assembler) free() int {
	switch {
	case a.nPrefix < PrefixLen:
		return PrefixLen - int(a.nPrefix)
	case a.buf == nil:
		return 0
	}
	return len(*a.buf) - int(a.have)
}

// reserve makes room behind the bytes that are there, so that buf is longer than have.
func (a *Assembler) reserve() {
	if a.buf == nil {
		a.buf = a.get(min(a.need, a.upFront))
		return
	}
	if int(a.have) < len(*a.buf) {
		return
	}
	// The buffer is full, so have is its length. A quarter of the message is credit
	// enough for the rest; this spares the largest copies.
	size := a.need
	if a.need/4 > a.have {
		size = 2 * a.have
	}
	grown := a.pool.Get(int(size))
	*grown = (*grown)[:size]
	copy(*grown, *a.buf)
	a.pool.Put(a.buf)
	a.buf = grown
}

// get returns n > 0 bytes for the first buffer of a message. A message up to smallMax
// always has it all at once, as n is then its length.
func (a *Assembler) get(n uint32) *[]byte {
	if a.need <= smallMax {
		return newSmall(int(n))
	}
	b := a.pool.Get(int(n))
	*b = (*b)[:n]
	return b
}

// finish hands the message over and leaves the Assembler between messages.
func (a *Assembler) finish() Message {
	m := Message{Data: emptyData, Compressed: a.prefix[0] == 1, Len: int(a.need)}
	switch {
	case a.buf == nil: // an empty message
	case a.need <= smallMax:
		m.Data = (*mem.SliceBuffer)(a.buf)
	default:
		m.Data = mem.NewBuffer(a.buf, a.pool)
	}
	a.buf, a.need, a.have, a.nPrefix = nil, 0, 0, 0
	return m
}

// fail frees what there is and makes err final.
func (a *Assembler) fail(err error) error {
	a.Abort()
	a.err = err
	return err
}

var (
	emptyData mem.Buffer = mem.SliceBuffer(nil)

	errOverfilled = errors.New("grpcwire: Filled with more than Space returned")
)

// clampLen makes a length of the application one that compares with a Message-Length.
func clampLen(n int) uint32 {
	return uint32(min(uint64(max(n, 0)), MaxMessageLen))
}
