// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"google.golang.org/grpc/internal/scaling"
)

// maxScale is the most connections per subchannel that a service config or a control plane may set,
// unless the program sets Options.MaxScale.
const maxScale = 10

// followScale makes the subchannel follow the limit that is attached to its first address, or else
// the service config's. It is called before others can see the subchannel.
func (sub *Subchannel) followScale() {
	if len(sub.addrs) > 0 {
		if l := scaling.Of(sub.addrs[0]); l != nil {
			sub.unscale = l.Watch(sub.scaleTo)
			return
		}
	}
	sub.rescale()
}

// unfollowScale ends what followScale began.
func (sub *Subchannel) unfollowScale() {
	if sub.unscale != nil {
		sub.unscale()
	}
}

// rescale makes the service config's limit, which has changed, the limit of all subchannels that
// have none of their own.
func (ch *Channel) rescale() {
	ch.mu.Lock()
	list := slices.Clone(ch.subConns)
	ch.mu.Unlock()
	for _, sub := range list {
		if sub.unscale == nil {
			sub.rescale()
		}
	}
}

// rescale sets the subchannel's limit to the service config's. It reads that with mu held, so that
// of calls at once the last one does not set a limit that has been replaced.
func (sub *Subchannel) rescale() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.scaleToLocked(int(sub.ch.scale.Load()))
}

// scaleTo sets the subchannel's limit to n, its own.
func (sub *Subchannel) scaleTo(n int) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.scaleToLocked(n)
}

// scaleToLocked sets the limit to n, brought between scaling.Default and Options.MaxScale.
func (sub *Subchannel) scaleToLocked(n int) {
	most := sub.ch.opts.MaxScale
	if most <= 0 {
		most = maxScale
	}
	n = min(max(n, scaling.Default), most)
	sub.node.SetMaxConnections(n)
	s := sub.scale.Load()
	if s == nil {
		// Where a limit may come later RPCs are counted from the start.
		if n == scaling.Default && !sub.ch.opts.Scale && (len(sub.addrs) == 0 || scaling.Of(sub.addrs[0]) == nil) {
			return
		}
		s = &scale{dialLocked: sub.dialLocked}
		sub.scale.Store(s)
	}
	s.limit = n
	sub.dispatchLocked()
}
