// SPDX-License-Identifier: Apache-2.0

// Package calls makes single calls of the benchmarks' service, whoever's client it is.
package calls

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
)

// allSize is how many bytes a call of All carries each way.
const allSize = 128

// All calls once with each client, at most callers of them at a time.
func All(ctx context.Context, clients []benchpb.BenchClient, callers int, progress control.Progress) (ops.Answered, error) {
	var mu sync.Mutex
	var latency hist.Histogram
	err := Each(max(callers, 1), len(clients), progress, func(i int) error {
		start := time.Now()
		if err := Echo(ctx, clients[i], allSize); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		took := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		latency.Add(took)
		return nil
	})
	return ops.Answered{Calls: int(latency.Summary().Count), Latency: latency.Summary()}, err
}

// Echo calls once, with size bytes each way.
func Echo(ctx context.Context, client benchpb.BenchClient, size int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answer, err := client.Echo(ctx, &benchpb.Message{
		Payload:    service.Payload(size),
		AnswerSize: uint32(size),
	})
	if err == nil && len(answer.GetPayload()) != size {
		err = fmt.Errorf("%d bytes came back, want %d", len(answer.GetPayload()), size)
	}
	return err
}

// Each runs do(0) to do(n-1) on several goroutines, stops at the first error and returns
// it.
func Each(workers, n int, progress control.Progress, do func(i int) error) error {
	var next, done atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				progress(int(done.Add(1)), n)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
