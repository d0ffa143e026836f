// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"google.golang.org/grpc/benchmark/internal/chart"
	"google.golang.org/grpc/benchmark/internal/sample"
	"google.golang.org/grpc/benchmark/internal/workers"
)

// bar is one implementation in a panel: RSS as its length, and what it is made of.
func bar(label, impl string, m sample.Memory, n int) chart.Bar {
	return chart.Bar{
		Label:  label,
		Value:  m.RSS,
		Strong: impl == workers.Ours,
		Note: fmt.Sprintf("heap %s, stack %s, goroutines %.1f; %s in all",
			chart.Bytes(m.Heap), chart.Bytes(m.Stack), m.Goroutines, chart.Bytes(m.RSS*float64(n))),
	}
}
