// SPDX-License-Identifier: Apache-2.0

// Package client is the xDS client: it asks control planes for resources, and tells watchers
// what they say. It knows the protocol (state of the world over one ADS stream a control plane,
// and load reports over LRS), federation (gRFC A47), fallback (A71), and what is to be done
// when resources are wrong, missing or late (A53, A57, A88). It does not know what resources
// mean, nor balancers, resolvers or channels: types of resources plug in as a [Type], and
// control planes are reached through a [Transport].
//
// # Who owns what
//
// A [Client] holds an authority for each authority of federation that something of is watched,
// and one for names without. An authority holds an entry for each resource that is watched, the
// only cache there is: a resource is held once, however many watch it. A server is one control
// plane; authorities with the same control plane share it. An authority uses the first server of
// its list, and the next ones too while those before them fail.
//
// # Locks
//
// One mutex, Client.mu, guards all of it: authorities, entries, servers, their subscriptions and
// what is to be sent. Nothing is done under it that waits: no decoding, no I/O, no call of a
// watcher. Methods whose names end in Locked want it held.
//
// # Goroutines
//
// A server that is in use has one, in run: it opens the stream, reads it, and pauses between
// attempts. It decodes what it reads, without the lock, changes the entries, with it, and then
// reads on only after watchers have taken the change: a slow watcher slows the control plane
// down, and the memory that a control plane can make a client hold is bounded by what is
// watched and one response.
//
// Requests are sent by a goroutine that lives while there is something to send. Timers, one for
// each resource that was asked for and has not come, are the runtime's. Watchers are called in
// order, one at a time, by whoever has news for them (see package serializer). So a watch that
// nothing happens to holds no goroutine, and neither does an idle entry.
//
// A server that gets load reports has another goroutine, which reads the LRS stream; reports are
// sent by a timer's.
//
// # Watchers
//
// A watcher is called in the order in which things happened. It must not wait for another call
// of a watcher. It may start and cancel watches. After cancel has returned no call begins; one
// that is under way may go on.
package client
