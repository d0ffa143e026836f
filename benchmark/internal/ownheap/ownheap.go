// SPDX-License-Identifier: Apache-2.0

// Package ownheap gives a process that is measured a heap of its own, as the programs of users have one. The
// garbage collector runs when a share of what lives has been allocated anew (GOGC), so that how often it runs,
// and what each run costs, depends on what a program keeps.
package ownheap

import (
	"fmt"
	"os"
	"strconv"
)

// Variable is the environment variable that says how large the heap is, in MiB.
const Variable = "BENCHMARK_HEAP"

// node is an object of a kind that programs have many of: a few hundred bytes, and pointers to others.
type node struct {
	left, right *node
	_           [240]byte
}

const perMiB = 1 << 20 / 256

// kept holds the heap for as long as the process lives.
var kept []*node

// Hold allocates the heap that Variable asks for. It does nothing if the variable is not set.
func Hold() error {
	value := os.Getenv(Variable)
	if value == "" {
		return nil
	}
	size, err := strconv.ParseUint(value, 10, 14)
	if err != nil {
		return fmt.Errorf("%s=%q is not a number of MiB below 16384", Variable, value)
	}
	kept = make([]*node, size*perMiB)
	for i := range kept {
		n := new(node)
		if i > 0 {
			n.left, n.right = kept[i/2], kept[i-1]
		}
		kept[i] = n
	}
	return nil
}
