// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func (p *pool) counts() (idle int, armed bool) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		idle += s.idle
		armed = armed || s.armed
		s.mu.Unlock()
	}
	return idle, armed
}

func TestShardsAreAPowerOfTwo(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 2, 3: 4, 8: 8, 33: 64, 500: maxShards} {
		if n := len(newPool(processors).shards); n != want {
			t.Errorf("%d shards for %d processors, want %d", n, processors, want)
		}
	}
}

// Nobody waits for a shard, wherever its holder has got stuck: a worker goes to another, and
// ends where there is none.
func TestNobodyWaits(t *testing.T) {
	for _, free := range []int{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(4)
			held := p.shards[:len(p.shards)-free]
			for i := range held {
				held[i].mu.Lock()
			}
			ran := 0
			for range 3 {
				p.run(task(func() { ran++ }))
				synctest.Wait()
			}
			for i := range held {
				held[i].mu.Unlock()
			}
			if idle, _ := p.counts(); idle != free || ran != 3 {
				t.Errorf("%d shards free: %d tasks ran, %d workers wait", free, ran, idle)
			}
			time.Sleep(3 * linger)
			if idle, armed := p.counts(); idle != 0 || armed {
				t.Errorf("%d shards free: idle %d, armed %v after the linger", free, idle, armed)
			}
		})
	}
}

// A worker that is idle on another shard is used before a new one is made.
func TestAnotherShardHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(2)
		seats := make(chan seat)
		go func() {
			for c := range seats {
				c.wait().task.Run()
			}
		}()
		for i := range p.shards {
			seats <- p.park(p.shard(i))
			done := make(chan struct{})
			p.run(task(func() { close(done) }))
			<-done
			synctest.Wait()
			if idle, _ := p.counts(); idle != 0 {
				t.Errorf("the worker of shard %d was not used", i)
			}
		}
		close(seats)
		time.Sleep(3 * linger)
	})
}

func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(8)
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 2000 {
					all.Add(1)
					p.run(task(all.Done))
				}
			})
		}
		all.Wait()
		time.Sleep(3 * linger)
		if idle, armed := p.counts(); idle != 0 || armed {
			t.Errorf("idle %d, armed %v after the linger", idle, armed)
		}
	})
}
