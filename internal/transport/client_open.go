// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"

	"google.golang.org/grpc/internal/transport/h2"
)

// NewStream starts a call, and sends its first message along if first is not
// nil; last says that there will be no other. It may wait for a place under the
// peer's limit of streams, until ctx is done.
//
// The error is ErrUnavailable, ctx's error, or an error with a status that says
// what is wrong with the call. In no case did the peer see anything of it.
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
		return headerListError(tooLarge).Err()
	case errors.Is(err, h2.ErrNoPlace):
		return ctx.Err()
	default:
		return ErrUnavailable
	}
}
