// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options say how a stream treats the messages that its owner sends, and callbacks that panic. Any
// number of streams may share them, and they must not be changed once they are in use. The zero value,
// or nil, means no queue and no recovery.
type Options struct {
	// Queue is how many messages may wait for room on one stream. They wait as they were given, and
	// are encoded when there is room. With 0 no message waits: Send then fails as TrySend does,
	// or ends the RPC under the policy End.
	Queue int

	// Full says what Send does if Queue messages wait already.
	Full Policy

	// Status ends the RPC under the policy End. nil, or one with codes.OK, stands for a status with codes.ResourceExhausted.
	Status *status.Status

	// Recover, if set, is called with the value of a callback's panic, by the deferred function
	// that has recovered it. The RPC ends with the error that Recover returns (nil stands for
	// codes.Internal). If Recover is nil, a panic ends the process, as that of a handler does.
	Recover func(value any) error
}

// Policy says what happens to a message if there is neither room nor a free place in the queue.
type Policy uint8

const (
	// Fail refuses the message: Send returns ErrNoRoom.
	Fail Policy = iota
	// DropOldest drops the message that has waited longest, and puts the new one in the queue.
	DropOldest
	// End ends the RPC with Options.Status. Messages that wait are not sent.
	End
)

var (
	// ErrNoRoom is returned for a message that was not sent because too much is already on its way
	// to the other side. OnReady is called when there is room, unless the policy End has ended the RPC.
	// ErrNoRoom is a status with codes.ResourceExhausted.
	ErrNoRoom = status.Error(codes.ResourceExhausted, "streams: there is no room to send")

	// ErrEnding is returned for a message or an end that comes after Finish, CloseSend, or a policy
	// that has ended the RPC. It is a status with codes.Internal.
	ErrEnding = status.Error(codes.Internal, "streams: the stream has been ended")

	errNotHeld = status.Error(codes.Unimplemented, "streams: the call option did not reach a channel of this module")

	errOverflow = status.New(codes.ResourceExhausted, "streams: the receiver is too slow")
	errPanic    = status.Error(codes.Internal, "streams: a callback panicked")
)

var defaults Options

func (o *Options) overflow() error {
	if o.Status.Code() != codes.OK {
		return o.Status.Err()
	}
	return errOverflow.Err()
}
