// SPDX-License-Identifier: Apache-2.0

// Package done joins what several policies want to do at the end of an RPC into one function,
// as PickResult.Done has it, without allocating for each RPC.
package done

import (
	"sync"

	"google.golang.org/grpc/balancer"
)

// Func is called once, at the end of an RPC.
type Func = func(balancer.DoneInfo)

// joined calls two. It is used again once it was called.
type joined struct {
	first, second Func
	run           Func // its own call
}

var pool sync.Pool // of *joined

func newJoined() *joined {
	if j, ok := pool.Get().(*joined); ok {
		return j
	}
	j := &joined{}
	j.run = j.call
	return j
}

// Join returns a function that calls both, and that must be called once at most; either may be
// nil. The balancer API promises as much of PickResult.Done.
func Join(first, second Func) Func {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	j := newJoined()
	j.first, j.second = first, second
	return j.run
}

func (j *joined) call(info balancer.DoneInfo) {
	first, second := j.first, j.second
	j.first, j.second = nil, nil
	pool.Put(j)
	first(info)
	second(info)
}
