// SPDX-License-Identifier: Apache-2.0

package park

// rouse wakes whom the events are for and still concern, but for one, which it returns: that
// one's role is the caller's to confer.
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

// fail is the end of a poller's goroutine: by close, or because the system
// refuses to wait. Nobody may then stay parked. All are woken, and their next
// Park fails, so that they wait in reads.
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
