// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// countingPicker counts the RPCs that are open by its own account.
type countingPicker struct {
	sc   balancer.SubConn
	open *atomic.Int64
}

func (p countingPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	p.open.Add(1)
	return balancer.PickResult{SubConn: p.sc, Done: func(balancer.DoneInfo) { p.open.Add(-1) }}, nil
}

type countingBuilder struct{ open atomic.Int64 }

func (b *countingBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc := range info.ReadySCs {
		return countingPicker{sc, &b.open}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

// TestEveryRPCEnds has RPCs of all kinds end in all ways, while the server restarts and
// then the channel closes. Whoever counts them must come to zero.
func TestEveryRPCEnds(t *testing.T) {
	counts := &countingBuilder{}
	balancer.Register(base.NewBalancerBuilder("test_counting", counts, base.Config{}))
	s := newRestartable(t)
	cc := newTestClient(t, s.addr, quickBackoff, WithDefaultServiceConfig(`{"loadBalancingConfig":[{"test_counting":{}}]}`))
	var (
		wg              sync.WaitGroup
		began, finished atomic.Int64
	)
	onFinish := OnFinish(func(error) { finished.Add(1) })
	for seed := range uint64(16) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 150 {
				began.Add(1)
				ctx, cancel := context.WithCancel(testContext(t))
				if random.IntN(2) == 0 {
					if random.IntN(4) == 0 {
						go cancel()
					}
					_ = call(ctx, cc, "x", onFinish, WaitForReady(true))
					cancel()
					continue
				}
				chaosStream(ctx, cc, random, onFinish)
				cancel()
			}
		})
	}
	for range 5 {
		s.restart()
	}
	var open sync.WaitGroup
	for range 8 { // these are left for Close
		began.Add(1)
		open.Go(func() {
			if st, err := cc.NewStream(context.Background(), bidiStream, bidiMethod, onFinish, WaitForReady(true)); err == nil {
				_ = st.SendMsg(&text{Value: "left"})
			}
		})
	}
	wg.Wait()
	open.Wait()
	cc.Close()
	// A stream that is cancelled ends on a goroutine of its own.
	ctx := testContext(t)
	for ctx.Err() == nil && (finished.Load() < began.Load() || counts.open.Load() > 0 || cc.channel.RPCs() > 0) {
		runtime.Gosched()
	}
	if began.Load() != finished.Load() {
		t.Errorf("%d RPCs began, %d finished", began.Load(), finished.Load())
	}
	if n := counts.open.Load(); n != 0 {
		t.Errorf("the balancer believes that %d RPCs are open", n)
	}
	if n := cc.channel.RPCs(); n != 0 {
		t.Errorf("the channel believes that %d RPCs are open", n)
	}
}

// chaosStream gives up a stream at some point, or brings it to its end.
func chaosStream(ctx context.Context, cc *ClientConn, random *rand.Rand, opts ...CallOption) {
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod, append(opts, WaitForReady(true))...)
	if err != nil {
		return
	}
	for range random.IntN(4) {
		if st.SendMsg(&text{Value: "x"}) != nil || random.IntN(4) == 0 || st.RecvMsg(new(text)) != nil {
			break
		}
	}
	if random.IntN(3) == 0 {
		return // its context ends
	}
	_ = st.CloseSend()
	for st.RecvMsg(new(text)) == nil {
	}
}
