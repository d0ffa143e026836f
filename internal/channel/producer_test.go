// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"runtime"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
)

// nobody makes no RPCs.
type nobody struct{ Owner }

func (nobody) ClientOf(*Subchannel) any { return nil }

// sliceBuilder counts what it builds and what of that has ended.
type sliceBuilder struct{ built, ended []int }

func (b sliceBuilder) Build(any) (balancer.Producer, func()) {
	b.built[0]++
	return nil, func() { b.ended[0]++ }
}

func TestProducerIncomparable(t *testing.T) {
	b := sliceBuilder{make([]int, 1), make([]int, 1)}
	sub := &Subchannel{ch: &Channel{owner: nobody{}}}
	_, end1 := sub.GetOrBuildProducer(b)
	_, end2 := sub.GetOrBuildProducer(b)
	end1()
	end2()
	if b.built[0] != b.ended[0] {
		t.Errorf("%d were built, %d ended", b.built[0], b.ended[0])
	}
	_, _ = sub.GetOrBuildProducer(b)
	sub.producers.close()
	if b.built[0] != b.ended[0] {
		t.Errorf("%d were built, %d ended", b.built[0], b.ended[0])
	}
}

// leavingBuilder builds producers whose ends leave.
type leavingBuilder struct {
	n     int
	ended *[]int
}

func (b leavingBuilder) Build(any) (balancer.Producer, func()) {
	return nil, func() {
		*b.ended = append(*b.ended, b.n)
		runtime.Goexit()
	}
}

// TestLeavingProducers: each producer ends once, and a subchannel's state is reported, also if their ends leave.
func TestLeavingProducers(t *testing.T) {
	var ended []int
	told := make(chan struct{})
	sub := &Subchannel{ch: &Channel{owner: nobody{}}, listener: func(balancer.SubConnState) { close(told) }}
	for n := range 3 {
		_, _ = sub.GetOrBuildProducer(leavingBuilder{n, &ended})
	}
	(&balancerWrapper{}).tell(sub, balancer.SubConnState{})
	<-told
	if !slices.Equal(ended, []int{0, 1, 2}) {
		t.Errorf("ended %v", ended)
	}
}
