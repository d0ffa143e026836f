// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/examples/restart/hubpb"
	"google.golang.org/grpc/status"
)

// tally is what the clients have seen.
type tally struct {
	events   atomic.Int64 // that arrived, at all followers together
	goodbyes atomic.Int64
	broken   atomic.Int64 // streams that ended without one
}

// publish appends events, one after the other, until ctx ends, and returns how many were
// accepted.
func publish(ctx context.Context, c hubpb.HubClient, who int) (n int, err error) {
	for ; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("event %d of publisher %d", n, who)
		// It is not the end of ctx that breaks a call off: what was accepted would not be known.
		_, err := c.Publish(context.WithoutCancel(ctx), &hubpb.PublishRequest{Text: text}, grpc.WaitForReady(true))
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// endText is that of the last event.
const endText = "end"

// follower reads the whole log, over any number of streams.
type follower struct {
	client hubpb.HubClient
	tally  *tally
	seen   []string // event i is seen[i]
}

// follow reads until the last event has come.
func (f *follower) follow(ctx context.Context) error {
	for {
		last, err := f.stream(ctx)
		if last || err != nil {
			return err
		}
	}
}

// stream follows over one stream; last says that there is nothing more to come.
func (f *follower) stream(ctx context.Context) (last bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.client.Follow(ctx, &hubpb.FollowRequest{Next: uint64(len(f.seen))}, grpc.WaitForReady(true))
	if err != nil {
		return false, err
	}
	for {
		m, err := stream.Recv()
		switch {
		case err == nil && m.GetGoodbye():
			f.tally.goodbyes.Add(1)
			return false, nil
		case err == nil:
			f.seen = append(f.seen, m.GetText())
			f.tally.events.Add(1)
			if m.GetText() == endText {
				return true, nil
			}
		case errors.Is(err, io.EOF), status.Code(err) == codes.Unavailable:
			f.tally.broken.Add(1)
			return false, nil
		default:
			return false, err
		}
	}
}
