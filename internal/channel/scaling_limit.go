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
	sub.scaleTo(int(sub.ch.scale.Load()))
}

// unfollowScale ends what followScale began.
func (sub *Subchannel) unfollowScale() {
	if sub.unscale != nil {
		sub.unscale()
	}
}

// useScale makes n, the service config's limit, the limit of all subchannels that have none of
// their own.
func (ch *Channel) useScale(n int) {
	if ch.scale.Swap(int32(n)) == int32(n) {
		return
	}
	ch.mu.Lock()
	list := slices.Clone(ch.subConns)
	ch.mu.Unlock()
	for _, sub := range list {
		if sub.unscale == nil {
			sub.scaleTo(n)
		}
	}
}

// scaleTo sets the subchannel's limit to n, brought between scaling.Default and Options.MaxScale.
func (sub *Subchannel) scaleTo(n int) {
	most := sub.ch.opts.MaxScale
	if most <= 0 {
		most = maxScale
	}
	n = min(max(n, scaling.Default), most)
	sub.node.SetMaxConnections(n)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	s := sub.scale.Load()
	if s == nil {
		if n == scaling.Default {
			return
		}
		s = &scale{dialLocked: sub.dialLocked}
		if l := sub.current; l != nil {
			l.rpcs = l.client.Streams()
		}
		sub.scale.Store(s)
	}
	s.limit = n
	sub.dispatchLocked()
}
