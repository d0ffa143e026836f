// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// Attempt is one attempt of an RPC. The caller first calls Pick or Use, which give it a connection,
// then Address, then Open, and in any case End. The zero value is a new attempt. Methods that
// change an attempt must not be called concurrently.
type Attempt struct {
	Link   *Link
	Stream *transport.ClientStream // nil before it is open

	done    func(balancer.DoneInfo)
	barred  barrier // why it was not sent, if the connection or the balancer kept it from that
	counted bool    // channelz has counted it for the subchannel
	ended   bool
}

// barrier says why an attempt was not sent.
type barrier uint8

const (
	unbarred barrier = iota
	unsent           // the connection was gone, by no fault of the RPC
	dropped          // the balancer ended the RPC
)

// Pick picks a connection for the attempt, and adds the picker's metadata to call. delayed reports
// whether Pick had to wait. The error is a status.
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

// Use sends the attempt to l instead of picking a connection. The error is a status.
func (a *Attempt) Use(ctx context.Context, l *Link) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	a.Link = l
	l.hold()
	a.count()
	return nil
}

// count counts the attempt in channelz.
func (a *Attempt) count() {
	if node := a.Link.Node(); node != nil {
		node.CallStarted()
		a.counted = true
	}
}

// Open opens the stream and sends the first message, unless first is nil. last says that no other
// message follows. The transport owns first from the call on, even if Open fails. The error is a
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

// Unsent reports whether the connection was gone before anything was sent, by no fault of the RPC.
func (a *Attempt) Unsent() bool { return a.barred == unsent }

// Dropped reports whether the balancer has ended the RPC.
func (a *Attempt) Dropped() bool { return a.barred == dropped }

// Ended reports whether End was called.
func (a *Attempt) Ended() bool { return a.ended }

// End ends the attempt. err is why it failed; nil means success. The caller calls End once.
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
		if a.barred == unsent && err != nil {
			d.Err = done.Lost(err)
		}
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

// Stop ends the stream with err, if it is not over. Messages that have come can still be received.
func (a *Attempt) Stop(err error) {
	if a.Stream != nil {
		a.Stream.End(status.Convert(err))
	}
}

// Fail ends the stream with err, if it is not over, and drops messages that have come.
func (a *Attempt) Fail(err error) {
	if a.Stream != nil {
		a.Stream.Fail(status.Convert(err))
	}
}

// Result returns the stream's status; nil means OK. If the server has canceled the stream, without a status,
// and the deadline of ctx has passed, Result returns DeadlineExceeded: the server's clock reached the deadline first.
func (a *Attempt) Result(ctx context.Context) *status.Status {
	st := a.Stream.Status()
	if st.Code() != codes.Canceled || a.Stream.GotTrailers() {
		return st
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return st
}

// Judge asks s whether another attempt follows this one, which failed with err. ctx is the RPC's
// context.
func (a *Attempt) Judge(ctx context.Context, s *retry.State, err error) retry.Verdict {
	f := retry.Failure{Status: status.Convert(err)}
	switch {
	case a.barred == unsent:
		f.Unsent = true
	case a.Stream == nil:
		f.Final = a.barred == dropped || ctx.Err() != nil // otherwise the status code alone decides
	default:
		f.Unprocessed = a.Stream.Unprocessed()
		f.Final = a.Stream.GotHeaders()
		f.Served = a.Stream.GotTrailers() && a.Stream.Status() == nil
		if (s.Policy != nil || s.Throttle != nil) && !f.Unprocessed && !f.Final {
			f.Pushback = retry.PushbackIn(a.Stream.Trailer())
		}
	}
	return s.Decide(f)
}
