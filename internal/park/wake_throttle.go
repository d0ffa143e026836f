// SPDX-License-Identifier: Apache-2.0

package park

// wakeThrottle bounds how many owners wait to run after one goroutine of the poller has woken them. An
// owner that is awake has a stack and buffers, a parked one has neither. So in a burst of input they are
// woken a batch at a time.
type wakeThrottle struct {
	n  int           // owners that were woken since the last wait
	by chan struct{} // receives when those have run; nil: there was no wait yet
}

// wake wakes o, the last of n owners. After a batch it waits until a new goroutine has run, which stands
// behind the woken ones in this processor's run queue. It does not wait for what those do: one that blocks
// has left the queue. (runtime.Gosched would wait behind everything that computes.)
func (t *wakeThrottle) wake(o Owner, n int) {
	if t.n += n; t.n < batch {
		o.Wake()
		return
	}
	t.n = 0
	if t.by == nil {
		t.by = make(chan struct{}, 1)
	}
	go func() { t.by <- struct{}{} }()
	o.Wake() // last: the runtime runs the newest goroutine first, and puts the one before it at the end of the queue
	<-t.by
}
