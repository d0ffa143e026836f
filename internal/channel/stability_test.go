// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
)

type evenPauses time.Duration

func (p evenPauses) Backoff(int) time.Duration { return time.Duration(p) }

// scaled returns a subchannel for up to three connections, which are on probation for a minute. Attempts to
// connect end with what is sent to them.
func scaled() (sub *Subchannel, states *[]connectivity.State, attempts chan chan error) {
	attempts = make(chan chan error, 10)
	cfg := &transport.ClientConfig{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		end := make(chan error)
		attempts <- end
		select {
		case err := <-end:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	cfg.Prepare()
	ch := &Channel{opts: &Options{
		StableAfter: time.Minute, Backoff: evenPauses(time.Second), MinConnectTimeout: 20 * time.Second, Recorders: stats.NewRecorders(nil),
	}}
	ch.transport.Store(cfg)
	states = new([]connectivity.State)
	sub = &Subchannel{
		ch: ch, owner: &balancerWrapper{ch: ch}, addrs: []resolver.Address{{Addr: "a:1"}},
		listener: func(s balancer.SubConnState) { *states = append(*states, s.ConnectivityState) },
	}
	sub.scaleTo(3)
	return sub, states, attempts
}

func (sub *Subchannel) locked(f func()) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	f()
}

// lose does what remove does, where the channel has no resolver.
func (sub *Subchannel) lose(l *Link) {
	sub.locked(func() {
		if !sub.promoteLocked(l) {
			sub.dropLocked()
			if !sub.lostEarlyLocked() {
				sub.setStateLocked(sub.stateWithoutLocked())
			}
		}
	})
}

// TestLostEarlyWhileItGrows: while another connection is being made, the loss of a young one is not the failure of an
// attempt: there is one attempt, and it decides (gRFC A105).
func TestLostEarlyWhileItGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sub, states, attempts := scaled()
		l := &Link{sub: sub, addr: &sub.addrs[0]}
		sub.locked(func() {
			sub.succeededLocked(l)
			sub.useLocked(l)
			sub.growLocked(sub.scale.Load())
		})
		second := <-attempts
		sub.lose(l)
		time.Sleep(2 * time.Second) // any pause is over
		sub.Connect()
		synctest.Wait()
		if n := len(attempts); n != 0 {
			t.Errorf("%d more attempts were made", n)
		}
		second <- errors.New("refused")
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.TransientFailure, connectivity.Idle}; !slices.Equal(*states, want) {
			t.Errorf("states %v, want %v", *states, want)
		}
		sub.locked(sub.abandonLocked)
		time.Sleep(time.Hour)
	})
}

// TestOnlyTheFirstIsOnProbation: the loss of a connection that took another one's place is no failed attempt.
func TestOnlyTheFirstIsOnProbation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sub, states, _ := scaled()
		first, second := &Link{sub: sub, addr: &sub.addrs[0]}, &Link{sub: sub, addr: &sub.addrs[0]}
		sub.locked(func() {
			sub.succeededLocked(first)
			sub.useLocked(first)
			sub.addLocked(second)
		})
		sub.lose(first)
		time.Sleep(time.Hour)
		sub.lose(second)
		synctest.Wait()
		if want := []connectivity.State{connectivity.Ready, connectivity.Idle}; !slices.Equal(*states, want) {
			t.Errorf("states %v, want %v", *states, want)
		}
		sub.locked(sub.abandonLocked)
	})
}

// TestMadeUnfit: a connection that was made, and lost before it could be used, ends the back-off, unless connections are
// on probation.
func TestMadeUnfit(t *testing.T) {
	for after, want := range map[time.Duration]int{0: 0, time.Minute: 10} {
		sub, _, _ := scaled()
		sub.ch.opts.StableAfter = after
		sub.locked(func() {
			sub.retries = 10
			sub.madeUnfitLocked()
			if sub.retries != want || sub.young != (after > 0) {
				t.Errorf("stable after %v: %d failures, on probation %t", after, sub.retries, sub.young)
			}
		})
	}
}
