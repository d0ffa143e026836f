// SPDX-License-Identifier: Apache-2.0

package park

// rouse wakes the owners of the handles that the events are for and still concern, except one, which it
// returns: the caller has to confer the role on that one.
func (p *poller) rouse(tokens []uint64) (one *Handle) {
	for _, token := range tokens {
		index, gen := splitToken(token)
		if h := p.table.get(index); h != nil && h.wakeGen(gen) {
			if one != nil {
				one.owner.Wake()
			}
			one = h
		}
	}
	return one
}

// fail ends a poller's goroutine: the poller was closed, or the system refuses to wait. Nobody may then
// stay parked. fail wakes all handles. Park fails until it has failed for each of them, or they are closed;
// then there can be a new poller.
func (p *poller) fail(err error) {
	p.set.mu.Lock()
	var all []*Handle
	if p.set.p.Load() == p {
		p.set.err = err
		p.failed.Store(true)
		for i := range p.table.n {
			if h := p.table.get(i + 1); h != nil {
				all = append(all, h)
			}
		}
	}
	p.set.mu.Unlock()
	for _, h := range all {
		if h.Kick() {
			h.owner.Wake()
		}
	}
}
