// SPDX-License-Identifier: Apache-2.0

// Package done joins the functions that several policies want called at the end of an RPC into one
// for PickResult.Done, without an allocation for each RPC.
package done

import (
	"errors"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/status"
)

// Func is called once, at the end of an RPC.
type Func = func(balancer.DoneInfo)

// WasUnused reports whether no RPC has used the pick: its SubConn had no connection any more, or lost it before
// anything was sent (Lost). The RPC goes on with another pick, so policies that judge endpoints by RPCs, or count
// RPCs, do not count this one.
func WasUnused(info balancer.DoneInfo) bool {
	if info.Err == nil {
		return !info.BytesSent
	}
	_, isLost := errors.AsType[lost](info.Err) // a policy of the program may wrap what it passes on
	return isLost
}

// Lost returns the error for the DoneInfo of a pick whose connection was lost before anything of the RPC was sent. To
// programs it is err, which must be a status.
func Lost(err error) error { return lost{err} }

type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// GRPCStatus is what package status looks for.
func (l lost) GRPCStatus() *status.Status { return status.Convert(l.error) }

// GiveBackUnless gives a pick back, unused, unless *told. A policy that calls something of the program's (a recorder, a
// label callback) after a pick defers it, as a panic of that would leave the pick counted for ever.
func GiveBackUnless(told *bool, f Func) {
	if !*told && f != nil {
		f(balancer.DoneInfo{})
	}
}

// joined calls two functions. It goes back to the pool when it is called.
type joined struct {
	first, second Func
	run           Func // the method value j.call, made once
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

// Join returns a function that calls both first and second. It must be called at most once, which
// the balancer API promises for PickResult.Done. first, second or both may be nil.
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
