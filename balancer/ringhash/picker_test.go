// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/connectivity"
	iringhash "google.golang.org/grpc/internal/ringhash"
	"google.golang.org/grpc/internal/xxh64"
	"google.golang.org/grpc/metadata"
)

const (
	idle       = connectivity.Idle
	connecting = connectivity.Connecting
	ready      = connectivity.Ready
	failure    = connectivity.TransientFailure
)

// newPicker returns a picker of members at the hashes 0, 10, 20, ..., whose pickers
// return their index as an error, and where the indices of those go that are told to
// connect.
func newPicker(states ...connectivity.State) (*picker, *[]int) {
	p, told := &picker{}, new([]int)
	for i, s := range states {
		p.ring.hashes = append(p.ring.hashes, uint64(10*i))
		p.ring.owners = append(p.ring.owners, uint32(i))
		p.members = append(p.members, endpointsharding.ChildState{
			State: balancer.State{
				ConnectivityState: s,
				Picker:            base.NewErrPicker(errors.New(fmt.Sprint(i))),
			},
			ExitIdle: func() { *told = append(*told, i) },
		})
		p.connecting = p.connecting || s == connecting
	}
	return p, told
}

const waits = "waits"

func pick(ctx context.Context, p *picker) string {
	_, err := p.Pick(balancer.PickInfo{Ctx: ctx})
	if err == balancer.ErrNoSubConnAvailable {
		return waits
	}
	return err.Error()
}

func TestPickHashed(t *testing.T) {
	for _, tt := range []struct {
		states []connectivity.State
		hash   uint64
		want   string
		told   []int
	}{
		{[]connectivity.State{ready, ready, ready}, 10, "1", nil},
		{[]connectivity.State{ready, idle, ready}, 10, waits, []int{1}},
		{[]connectivity.State{ready, connecting, ready}, 10, waits, nil},
		{[]connectivity.State{ready, failure, ready}, 10, "2", nil},
		{[]connectivity.State{ready, failure, idle}, 10, waits, []int{2}},
		{[]connectivity.State{idle, failure, connecting}, 10, waits, nil},
		{[]connectivity.State{ready, failure, failure}, 10, "0", nil},
		{[]connectivity.State{failure, failure, failure}, 10, "1", nil},
		{[]connectivity.State{failure, failure, failure}, 11, "2", nil},
		{[]connectivity.State{failure, failure, failure}, 99, "0", nil},
	} {
		p, told := newPicker(tt.states...)
		if got := pick(iringhash.WithHash(t.Context(), tt.hash), p); got != tt.want || !slices.Equal(*told, tt.told) {
			t.Errorf("%v at %d: %s, told %v; want %s, %v", tt.states, tt.hash, got, *told, tt.want, tt.told)
		}
	}
}

func TestPickRandom(t *testing.T) {
	for _, tt := range []struct {
		states []connectivity.State
		first  int
		want   string
		told   []int
	}{
		{[]connectivity.State{ready, ready, ready}, 1, "1", nil},
		{[]connectivity.State{ready, idle, idle}, 1, "0", []int{1}},
		{[]connectivity.State{ready, idle, connecting}, 1, "0", nil},
		{[]connectivity.State{idle, idle, idle}, 1, waits, []int{1}},
		{[]connectivity.State{idle, failure, failure}, 1, waits, []int{0}},
		{[]connectivity.State{failure, failure, connecting}, 0, waits, nil},
		{[]connectivity.State{failure, failure, failure}, 1, "1", nil},
	} {
		p, told := newPicker(tt.states...)
		_, err := p.pickRandom(tt.first, balancer.PickInfo{})
		got := waits
		if err != balancer.ErrNoSubConnAvailable {
			got = err.Error()
		}
		if got != tt.want || !slices.Equal(*told, tt.told) {
			t.Errorf("%v from %d: %s, told %v; want %s, %v", tt.states, tt.first, got, *told, tt.want, tt.told)
		}
	}
}

func TestHash(t *testing.T) {
	p := &picker{header: "user"}
	outgoing := func(kv ...string) context.Context {
		return metadata.AppendToOutgoingContext(iringhash.WithHash(t.Context(), 7), kv...)
	}
	for _, tt := range []struct {
		ctx  context.Context
		want string
	}{
		{outgoing("user", "a"), "a"},
		{outgoing("User", "a", "x", "y", "user", "b"), "a,b"},
		{outgoing("x", "y"), ""},
		{outgoing("user", ""), ""},
		{t.Context(), ""},
	} {
		hash, known, err := p.hash(tt.ctx)
		if err != nil || known != (tt.want != "") || known && hash != xxh64.Sum([]byte(tt.want)) {
			t.Errorf("want the hash of %q: %d, %t", tt.want, hash, known)
		}
		if other, _, _ := p.hash(tt.ctx); !known && hash == other {
			t.Errorf("the same random hash twice: %d", hash)
		}
	}
	p.header = ""
	if hash, known, err := p.hash(outgoing("user", "a")); err != nil || !known || hash != 7 {
		t.Errorf("without a header: %d, %t, %v", hash, known, err)
	}
	if _, _, err := p.hash(t.Context()); err != errNoHash {
		t.Errorf("without header and hash: %v", err)
	}
}

func TestAggregate(t *testing.T) {
	for _, tt := range []struct {
		states []connectivity.State
		want   connectivity.State
	}{
		{[]connectivity.State{idle, idle}, idle},
		{[]connectivity.State{failure, failure, ready}, ready},
		{[]connectivity.State{failure, failure, connecting, idle}, failure},
		{[]connectivity.State{failure, connecting}, connecting},
		{[]connectivity.State{idle, connecting}, connecting},
		{[]connectivity.State{failure, idle}, connecting},
		{[]connectivity.State{failure}, failure},
		{[]connectivity.State{idle}, idle},
		{[]connectivity.State{connectivity.Shutdown, -1, 99}, failure},
	} {
		p, _ := newPicker(tt.states...)
		if got := aggregate(p.members); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.states, got, tt.want)
		}
	}
}
