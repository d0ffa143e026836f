// SPDX-License-Identifier: Apache-2.0

// Package handover is the interface between package grpc and package experimental/streams: how a
// stream is served with no goroutine that waits for it. It imports no other package of this module,
// so that the transport can use it too.
//
// A stream that was handed over has an owner. Whenever the owner has nothing to do, it arms the
// stream: Arm returns what there is to do after all, or else the owner is woken, once, as soon as
// there is something. A wake-up only says that it is time to arm again, so an extra one does no harm.
package handover

// Events are what the owner of a stream reacts to.
type Events uint8

const (
	// Input says that RecvMsg would not wait: there is a message, the end of them, or an
	// error.
	Input Events = 1 << iota
	// Over says that the RPC has ended. There is no Input after it.
	Over
	// Late says that the context which a tap has returned has ended, and nothing is received that would tell: the owner
	// has to end the RPC with Late's error.
	Late
)

// Has reports whether any of the events e2 is among e.
func (e Events) Has(e2 Events) bool { return e&e2 != 0 }

// Waker is what a stream wakes. Any goroutine may call Wake, possibly while it holds locks of the
// connection: Wake must not block, nor use the stream.
type Waker interface{ Wake() }

// Owner is what owns a server's stream that was handed over.
type Owner interface {
	Waker
	// HandlerReturned is called once, when the handler and all interceptors around it have
	// returned. Before that the owner may only send. HandlerReturned must not block.
	HandlerReturned()
}

// Key finds the Server in the context of a server's stream.
type Key struct{}

// Server is the stream of a server's RPC as package grpc has it, below the wrappers of interceptors.
// After HandOver, the owner makes one call of Arm at a time, and one call at a time of the methods
// that send and of Finish. Done is the last call.
type Server interface {
	// HandOver makes o the owner. The handler calls it, and then returns nil. An error has a
	// status.
	HandOver(o Owner) error
	// Arm returns what there is to do: Over, Late, or Input if input is true. If it returns 0, w is
	// woken when there is something to do.
	Arm(w Waker, input bool) Events
	// ArmRoom reports whether there is room, so that SendMsg does not wait. If there is none, w, which may be
	// nil, is woken when there is. If lazy is true, what is sent next is only queued, until Flush of any
	// stream with the same Conn writes it.
	ArmRoom(w Waker, lazy bool) bool
	// EndLazy must be called after each ArmRoom with lazy true that found room, once the message was sent or was
	// not, and before Flush. Otherwise what the stream sends much later could wait for a Flush that does not come.
	EndLazy()
	Flush()
	Conn() any
	// IsPlain reports whether stream, which is about to be handed over, is this one without a
	// wrapper that sees its messages. Then the owner may call Offer in place of ArmRoom and SendMsg.
	IsPlain(stream any) bool
	// Offer sends prepared, which Prepare has made for a stream of the same Kind. If sending would
	// wait, Offer takes nothing, and w is woken as by ArmRoom. more is how many other streams with
	// the same Conn are offered it next. Unless more is 0, what is sent is only queued until Flush.
	Offer(prepared any, w Waker, more int) (taken bool, err error)
	// Finish ends the RPC as a handler does that returns err. If the RPC has ended otherwise, Finish
	// returns the error that it has ended with.
	Finish(err error) error
	// Fate returns the status with which the RPC has ended without Finish. It is valid once Arm has reported Over.
	Fate() error
	// Late returns a status once Arm has reported Late.
	Late() error
	// Done says that the owner needs the RPC, which ended with err, no more.
	Done(err error)
	Encoder
}

// Encoder says how the messages of a stream are encoded. Only the sender uses it.
type Encoder interface {
	// Kind returns a value that is equal for streams that can send the same prepared message.
	Kind() Kind
	// IsKind reports whether Kind returns k.
	IsKind(k *Kind) bool
	// Prepare returns msg in a form that SendMsg accepts on all streams of the same Kind.
	Prepare(msg any) (any, error)
}

// Kind identifies the streams that can send the same prepared message. It is comparable.
type Kind struct {
	Codec, Compressor any
	Plain             bool // the prepared message also has the plain message, for the binary log
	Sure              bool // all values of the types of Codec and Compressor can be compared with them
}

// Client is the stream of a client's RPC as package grpc has it, below the wrappers of interceptors.
// One goroutine at a time calls Arm, and one at a time sends.
type Client interface {
	// Arm returns Input if RecvMsg has something to return: a message, or the end, which may also
	// be an error of this module's own making. Otherwise it returns 0, and w is woken when there
	// is something. If the RPC has to make another attempt instead of ending, Arm makes it, and may
	// wait for it.
	Arm(w Waker) Events
	// ArmRoom is like that of Server.
	ArmRoom(w Waker) bool
	Encoder
	// Fail ends the RPC with err, which has a status.
	Fail(err error)
}
