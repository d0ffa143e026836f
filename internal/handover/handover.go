// SPDX-License-Identifier: Apache-2.0

// Package handover is what package grpc and package experimental/streams agree upon: how a
// stream is served with no goroutine that waits for it. It imports nothing of this module,
// so that the transport may use it, too.
//
// A stream that was handed over has an owner. Whenever the owner has nothing to do it arms
// the stream: it is told what there is to do after all, or is woken, once, when there is. A
// wake-up says no more than that it is time to arm again, so one too many does no harm.
package handover

// Events are what the owner of a stream acts upon.
type Events uint8

const (
	// Input says that RecvMsg would not wait: there is a message, the end of them, or an
	// error.
	Input Events = 1 << iota
	// Over says that the RPC has ended. There is no Input after it.
	Over
)

// Has reports whether any of the events e2 is among e.
func (e Events) Has(e2 Events) bool { return e&e2 != 0 }

// Waker is woken, from any goroutine and with locks of the connection held: it must not
// block, nor use the stream.
type Waker interface{ Wake() }

// Owner is who a server's stream was handed over to.
type Owner interface {
	Waker
	// HandlerReturned says that the handler, and all interceptors around it, have
	// returned. The owner does nothing before, but for sending. It is called once, and
	// must not block.
	HandlerReturned()
}

// Key finds, in the context of a server's stream, the Server.
type Key struct{}

// Server is the stream of a server's RPC as package grpc has it, below what interceptors
// have made of it. After HandOver, the owner calls Arm one at a time; what sends, and Finish,
// one at a time. Done is last.
type Server interface {
	// HandOver makes o the owner. It is for the handler, which then returns nil. An error
	// has a status.
	HandOver(o Owner) error
	// Arm returns what there is to do: Over, or Input if that is wanted. If there is
	// nothing, w is woken when there is.
	Arm(w Waker, input bool) Events
	// ArmRoom reports whether there is room, so that SendMsg does not wait. If there is none, w, which may be
	// nil, is woken when there is. What a lazy sender sends next is only queued: Flush, of any
	// stream of the same Conn, writes it.
	ArmRoom(w Waker, lazy bool) bool
	Flush()
	Conn() any
	// IsPlain reports whether stream, which HandOver was asked for, is this one with nothing
	// around it that sees its messages. Offer stands for ArmRoom and SendMsg then.
	IsPlain(stream any) bool
	// Offer sends what Prepare has made for a stream of the same Kind. If that would wait,
	// nothing is taken, and w is woken as by ArmRoom. more is how many streams of the same
	// Conn it is offered to next: what is sent is left for Flush, unless more is 0.
	Offer(prepared any, w Waker, more int) (taken bool, err error)
	// Finish ends the RPC as a handler that returns err does. If it has ended otherwise
	// the error is what it has ended with.
	Finish(err error) error
	// Fate returns the status with which the RPC has ended without Finish. It is valid once Arm has reported Over.
	Fate() error
	// Done says that the owner has no more to do with the RPC, which ended with err.
	Done(err error)
	Encoder
}

// Encoder is how the messages of a stream are encoded. It is for who sends.
type Encoder interface {
	// Kind tells which streams can send the same prepared message.
	Kind() Kind
	// IsKind reports whether Kind is k.
	IsKind(k *Kind) bool
	// Prepare returns msg in a form that SendMsg of all streams of the same Kind takes.
	Prepare(msg any) (any, error)
}

// Kind is comparable.
type Kind struct {
	Codec, Compressor any
	Plain             bool // the message is kept as it is, too, for the binary log
	Sure              bool // whatever has the types of Codec and Compressor can be compared with them
}

// Client is the stream of a client's RPC as package grpc has it, below what interceptors have
// made of it. Arm is called by one goroutine at a time, what sends by one.
type Client interface {
	// Arm returns Input, or 0, and w is then woken when there is some: a message or the
	// end, also one of our own making. What the RPC is to do in place of an end, it does,
	// and may wait for: another attempt.
	Arm(w Waker) Events
	// ArmRoom is as that of Server.
	ArmRoom(w Waker) bool
	Encoder
	// Fail ends the RPC with err, which has a status.
	Fail(err error)
}
