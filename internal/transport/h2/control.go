// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (r *reader) onReset(h frame.Header, p []byte) error {
	c := r.lock()
	s, why, err := c.core.OnReset(&r.in.act.Intake, h, p)
	c.unlock()
	return abort(s, why, err)
}

func (r *reader) onWindowUpdate(h frame.Header, p []byte) error {
	c := r.lock()
	defer c.unlock()
	return c.core.OnWindowUpdate(h, p)
}

func (r *reader) onPing(h frame.Header, p []byte) error {
	c := r.lock()
	ping, err := c.core.OnPing(&r.in.act.Intake, h, p, time.Duration(clock.Now()))
	if ping.Drained {
		time.AfterFunc(drainGrace, (*Conn)(r).drainLate)
	}
	c.unlock()
	if err != nil || ping.Answer {
		return err
	}
	if err := r.handler.PingReceived(ping.Streams, ping.Sent); err != nil || ping.Sent {
		return err // a peer to which we send may use PINGs to measure the path
	}
	return r.in.act.Useless()
}

// onGoAway obeys the peer's GOAWAY: we open no new streams, and streams that the peer will not process
// are over.
func (r *reader) onGoAway(h frame.Header, p []byte) error {
	c := r.lock()
	f, lost, err := c.core.OnGoAway(h, p)
	c.unlock()
	if err != nil {
		return err
	}
	r.handler.GoAway(f.Code, f.Debug)
	for _, s := range lost {
		c := r.lock()
		why := c.core.LostStream(s)
		c.unlock()
		if why != nil {
			s.Receiver().OnAbort(why)
		}
	}
	c = r.lock()
	c.core.Finish()
	c.unlock()
	return nil
}
