// SPDX-License-Identifier: Apache-2.0

// Package client is the xDS client. It requests resources from control planes and passes them to
// watchers. It implements the protocol (state of the world, with one ADS stream for each control
// plane, and load reports over LRS), federation (gRFC A47), fallback (A71), and the rules for
// resources that are wrong, missing or late (A53, A57, A88). It does not know what resources
// mean, and knows no balancers, resolvers or channels. Each type of resource is a [Type], and a
// control plane is reached through a [Transport].
//
// # Who owns what
//
// A [Client] has an authority for each federation authority that has watched resources, and one
// for names without an authority. An authority has an entry for each watched resource. The
// entries are the only cache: a resource is held once, however many watches it has. A server is
// one control plane. Authorities with the same control plane share it. An authority uses the
// first server of its list, and the next ones too while those before them fail.
//
// # Locks
//
// One mutex, Client.mu, guards everything: authorities, entries, servers, their subscriptions
// and the requests to send. Nothing that waits is done under it: no decoding, no I/O, no call of
// a watcher. Methods whose names end in Locked require that the caller holds it.
//
// # Goroutines
//
// Each server in use has one goroutine, in run. It opens the stream, reads it, and pauses
// between attempts. It decodes what it reads without holding the lock, and changes the entries
// while holding it. It reads on only after the watchers have been called. So a slow watcher
// slows the control plane down, and a control plane can make a client hold no more memory than
// the watched resources and one response need.
//
// A goroutine that sends requests exists only while there are requests to send. Each resource
// that was requested and has not come has a timer of the runtime. Watchers are called in order,
// one at a time, by the goroutine that has news for them (see package serializer). So a watch to
// which nothing happens holds no goroutine, and neither does an idle entry.
//
// A server that gets load reports has another goroutine, which reads the LRS stream. A timer's
// function sends the reports.
//
// # Watchers
//
// Watchers are called in the order in which things happened. A watcher must not wait for another
// call of a watcher. It may start and cancel watches. After cancel has returned no call begins,
// but one that has begun may still run.
package client
