// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"

	"google.golang.org/grpc/internal/transport/h2"
)

// awaitRoom waits until no more than a window's worth of messages is queued on st, or st is
// over. The error is that of ctx, if that ends first.
func awaitRoom(ctx context.Context, st *h2.Stream) error {
	for {
		room := st.Room()
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
