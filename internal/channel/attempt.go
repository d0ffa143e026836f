// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// Attempt is one try of an RPC: it is given a connection by Pick or Use, then Address and Open
// follow, and End in any case. The zero value is a new one. Methods that change it must not be
// called at the same time.
type Attempt struct {
	Link   *Link
	Stream *transport.ClientStream // nil before it is open

	done    func(balancer.DoneInfo)
	barred  barrier // what kept it from being sent, if anything did
	counted bool    // in channelz, for the subchannel
	ended   bool
}

// barrier is what kept an attempt from being sent.
type barrier uint8

const (
	unbarred barrier = iota
	unsent           // the connection, by no fault of the RPC
	dropped          // the balancer, which ended the RPC
)

// Pick picks a connection for the attempt, and has call carry the picker's metadata. delayed
// reports whether it had to wait. The error is a status.
func (a *Attempt) Pick(ctx context.Context, ch *Channel, call *transport.Call, waitForReady bool) (delayed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, status.FromContextError(err).Err()
	}
	p, err := ch.picks.pick(balancer.PickInfo{FullMethodName: call.Method, Ctx: ctx}, waitForReady)
	if err != nil {
		if p.dropped {
			a.barred = dropped
		}
		return p.delayed, err
	}
	a.Link, a.done = p.link, p.result.Done
	call.SetPicked(p.result.Metadata)
	a.count()
	return p.delayed, nil
}

// Use has the attempt go to l, in place of a connection that is picked. The error is a status.
func (a *Attempt) Use(ctx context.Context, l *Link) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	a.Link = l
	l.hold()
	a.count()
	return nil
}

// count has channelz count the attempt.
func (a *Attempt) count() {
	if node := a.Link.Node(); node != nil {
		node.CallStarted()
		a.counted = true
	}
}

// Open opens the stream, with the first message if there is one; last says that no other
// follows. The payload is the transport's from the call on, in any case. The error is a
// status.
func (a *Attempt) Open(ctx context.Context, call *transport.Call, first *transport.Payload, last bool) error {
	stream, err := a.Link.client.NewStream(ctx, call, first, last)
	if err == nil {
		a.Stream = stream
		return nil
	}
	if errors.Is(err, transport.ErrUnavailable) {
		a.barred = unsent
		a.Link.Unusable()
		return status.Error(codes.Unavailable, err.Error())
	}
	return AsStatus(err)
}

// Unsent says that the connection was gone before anything was sent, by no fault of the RPC.
func (a *Attempt) Unsent() bool { return a.barred == unsent }

// Dropped says that the balancer has ended the RPC.
func (a *Attempt) Dropped() bool { return a.barred == dropped }

// Ended says that End was called.
func (a *Attempt) Ended() bool { return a.ended }

// End ends an attempt that failed with err, or was a success. It is called once.
func (a *Attempt) End(err error) {
	a.ended = true
	if a.Link != nil {
		a.Link.release()
	}
	if a.counted {
		a.Link.Node().CallEnded(err)
	}
	if a.done != nil {
		a.done(a.doneInfo(err))
	}
}

func (a *Attempt) doneInfo(err error) balancer.DoneInfo {
	d := balancer.DoneInfo{Err: err}
	if a.Stream == nil {
		return d
	}
	d.Trailer = a.Stream.Trailer()
	d.BytesSent = true
	d.BytesReceived = a.Stream.GotHeaders() || a.Stream.TrailersOnly()
	if d.Trailer != nil {
		d.ServerLoad = loadreport.Parse(d.Trailer)
	}
	return d
}

// Fail ends the stream with err, if it is not over.
func (a *Attempt) Fail(err error) {
	if a.Stream != nil {
		a.Stream.Fail(status.Convert(err))
	}
}

// Result is how the stream ended; nil stands for OK. A server that says Canceled once the
// deadline of ctx has passed means the deadline: its own clock was first.
func (a *Attempt) Result(ctx context.Context) *status.Status {
	st := a.Stream.Status()
	if st.Code() != codes.Canceled {
		return st
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return st
}

// Judge has s decide whether there is another attempt after this one, which failed with err.
// ctx is the RPC's.
func (a *Attempt) Judge(ctx context.Context, s *retry.State, err error) retry.Verdict {
	f := retry.Failure{Status: status.Convert(err)}
	switch {
	case a.barred == unsent:
		f.Unsent = true
	case a.Stream == nil:
		f.Final = a.barred == dropped || ctx.Err() != nil // else the policy goes by the code alone
	default:
		f.Unprocessed = a.Stream.Unprocessed()
		f.Final = a.Stream.GotHeaders()
		if s.Policy != nil && !f.Unprocessed && !f.Final {
			f.Pushback = retry.PushbackIn(a.Stream.Trailer())
		}
	}
	return s.Decide(f)
}
