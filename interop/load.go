// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

const (
	loadWorkers = 8
	loadSize    = 1000
	// loadLimit bounds each RPC.
	loadLimit = 20 * time.Second
)

// Load makes RPCs with client until ctx ends, eight at a time, half of them streams. The RPCs
// are wait-for-ready. It returns how many RPCs had each outcome, which is OK or the text of an
// error.
func Load(ctx context.Context, client *Client) map[string]int {
	var mu sync.Mutex
	outcomes := make(map[string]int)
	var wg sync.WaitGroup
	for n := range loadWorkers {
		wg.Go(func() {
			for ctx.Err() == nil {
				kind := "OK"
				if err := loadCall(client, n%2 == 0); err != nil {
					kind = err.Error()
				}
				mu.Lock()
				outcomes[kind]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return outcomes
}

func loadCall(c *Client, streaming bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	if !streaming {
		reply, err := c.test.UnaryCall(ctx, &testpb.SimpleRequest{ResponseSize: loadSize, Payload: zeros(loadSize)}, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		return checkPayload(reply.GetPayload(), loadSize)
	}
	req := &testpb.StreamingOutputCallRequest{}
	const replies = 10
	for range replies {
		req.ResponseParameters = append(req.ResponseParameters, &testpb.ResponseParameters{Size: loadSize})
	}
	stream, err := c.test.StreamingOutputCall(ctx, req, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		_, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && n == replies:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the stream ends after %d replies", n)
		case err != nil:
			return err
		}
	}
}
