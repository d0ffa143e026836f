// SPDX-License-Identifier: Apache-2.0

package park

// throng is those whom a goroutine of the poller has woken since it last let them run. Whoever is
// awake has a stack and buffers, whoever is not has nothing; so in a burst of input they are
// woken a batch at a time.
type throng struct {
	n  int
	by chan struct{} // when they have run; nil: there was no throng yet
}

// wake wakes o, the last of n. If there is a throng then, it waits until a goroutine runs that
// comes behind them in the queue of this processor. It does not wait for what they do: who
// blocks is no longer in the queue. (runtime.Gosched would wait behind everything that computes.)
func (t *throng) wake(o Owner, n int) {
	if t.n += n; t.n < batch {
		o.Wake()
		return
	}
	t.n = 0
	if t.by == nil {
		t.by = make(chan struct{}, 1)
	}
	go func() { t.by <- struct{}{} }()
	o.Wake() // last: whoever comes last is run first, and sends who was there behind all others
	<-t.by
}
