// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"

	"google.golang.org/grpc/internal/transport/h2"
)

// NewStream starts a call. It sends the first message along if first is not nil; last says that no other
// follows. NewStream may wait, until ctx is done, for a place under the peer's limit of streams.
//
// The error is ErrUnavailable, ctx's error, or an error whose status says what is wrong with the call. In
// no case has the peer seen anything of the call.
func (c *Client) NewStream(ctx context.Context, call *Call, first *Payload, last bool) (*ClientStream, error) {
	s := &ClientStream{client: c, ctx: ctx, call: call, watched: call.Watched}
	s.h2.Init((*clientReceiver)(s), 0)
	s.asm.Init(&c.cfg.BufferPool, call.MaxRecvMsgSize)
	s.length = noLength
	if err := s.call.prepare(ctx); err != nil {
		if first != nil {
			first.Data.Free()
		}
		return nil, err
	}
	f := h2.Frames{End: last}
	if first != nil {
		f = first.frames()
		f.End = last
	}
	f.Headers = (*callFields)(s)
	s.sentEnd = last
	if err := c.conn.Open(&s.h2, f, ctx); err != nil {
		return nil, openError(ctx, err)
	}
	s.call = nil
	if t := c.traffic(); t != nil {
		t.streamBegan()
		if first != nil {
			t.messageSent()
		}
	}
	return s, nil
}

func openError(ctx context.Context, err error) error {
	var tooLarge *h2.ErrHeaderListTooLarge
	switch {
	case errors.As(err, &tooLarge):
		return headerListError(tooLarge, "server").Err()
	case errors.Is(err, h2.ErrNoPlace):
		return ctx.Err()
	default:
		return ErrUnavailable
	}
}
