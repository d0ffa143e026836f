// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/sample"
)

// measured is one measurement of a row.
type measured struct {
	Rate           float64 // calls or messages a second
	Client, Server cost
	Collections    float64 // of garbage, a second, both processes together
	Latency        hist.Summary
	Calls          uint64
}

// total is the cost of both sides.
func (m measured) total() cost {
	return cost{
		CPU:        m.Client.CPU + m.Server.CPU,
		Allocs:     m.Client.Allocs + m.Server.Allocs,
		AllocBytes: m.Client.AllocBytes + m.Server.AllocBytes,
	}
}

// cost is what one call or message takes in one process.
type cost struct {
	CPU        time.Duration
	Allocs     float64
	AllocBytes float64

	RSS float64 // of the process while it is busy, in bytes
}

func costOf(used sample.Counters, calls float64) cost {
	return cost{
		CPU:        time.Duration(float64(used.CPU) / calls),
		Allocs:     float64(used.Allocs) / calls,
		AllocBytes: float64(used.AllocBytes) / calls,
	}
}
