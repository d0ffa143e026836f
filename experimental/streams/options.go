// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options are how a stream treats what its owner sends, and a callback that panics. They may
// be shared by any number of streams, and must not be changed once they are in use. The zero
// value, or nil, is: no queue, and no recovery.
type Options struct {
	// Queue is how many messages may wait for room on one stream. They wait as they were
	// given, to be encoded when there is room. 0 is none: Send then fails as TrySend does.
	Queue int

	// Full says what Send does when Queue messages wait already.
	Full Policy

	// Status is what ends the RPC under the policy End; the default is ResourceExhausted.
	Status *status.Status

	// Recover, if set, is called with the value of a panic of a callback, by the deferred
	// function that has recovered it. The RPC ends with the error that it returns (nil stands
	// for codes.Internal). If it is nil a panic ends the process, as that of a handler does.
	Recover func(value any) error
}

// Policy says what becomes of a message that finds no room.
type Policy uint8

const (
	// Fail refuses the message: Send returns ErrNoRoom.
	Fail Policy = iota
	// DropOldest makes room in the queue: the message that has waited longest is not sent.
	DropOldest
	// End ends the RPC with Options.Status. What waits is not sent.
	End
)

var (
	// ErrNoRoom is returned for a message that was not sent, as too much is on its way
	// to the other side already. OnReady follows when there is room. It is a status,
	// codes.ResourceExhausted.
	ErrNoRoom = status.Error(codes.ResourceExhausted, "streams: there is no room to send")

	// ErrEnding is returned for what comes after Finish, CloseSend, or a policy that has
	// ended the RPC. It is a status, codes.Internal.
	ErrEnding = status.Error(codes.Internal, "streams: the stream has been ended")

	errNotHeld = status.Error(codes.Unimplemented, "streams: the call option did not reach a channel of this module")

	errOverflow = status.New(codes.ResourceExhausted, "streams: the receiver is too slow")
	errPanic    = status.Error(codes.Internal, "streams: a callback panicked")
)

var defaults Options

func (o *Options) overflow() error {
	if o.Status != nil {
		return o.Status.Err()
	}
	return errOverflow.Err()
}
