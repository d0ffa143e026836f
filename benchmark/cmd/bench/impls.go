// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"google.golang.org/grpc/benchmark/internal/workers"
)

const implsHelp = `what to measure, separated by commas; the last is what the others are compared with:
ours, published, a name of bench peers, the path of a worker built before, each with ` + workers.NoPool + `, ` + workers.NoReuse + ` or ` + workers.NoPulse + ` behind it to turn pooled reads, goroutines that are used again, or system calls that the scheduler is not told of off; A@B is a client of A with a server of B`

// build builds the workers of the named implementations.
func build(ctx context.Context, names string) ([]workers.Impl, error) {
	var impls []workers.Impl
	for _, name := range strings.Split(names, ",") {
		impl, err := workers.Build(ctx, name)
		if err != nil {
			return nil, err
		}
		impls = append(impls, impl)
	}
	return impls, nil
}
