// SPDX-License-Identifier: Apache-2.0

// Package crossing simulates clients and servers of two implementations beside each other: this module and the
// published one. Each side is a process of its own (package side), whose goroutines are in a bubble of
// testing/synctest. A third process, which this package is, has all that is between them: the network, the clock,
// and what programs do. It decides from one seed when bytes arrive and how they are cut, which connections stand
// still, break, and are refused, when calls begin, send, receive, and are cancelled, when handlers return, and when
// servers stop, drain and come again. So frames of both directions cross in any order, and a history that fails can
// be run again. It is repeated as far as the runtime runs the goroutines of a side in the same order, which it does
// nearly always, and but for ages of connections, of which each side takes some at random, and what TLS makes.
//
//	go run ./cmd/crossing -for 20s -seed 7
//
// Package internal/simulation does so with this module alone, at each read and write of its goroutines.
// Here a side goes on until all its goroutines wait, as what goes on inside the published module nobody
// else can decide.
//
// # What is checked
//
//   - Messages: each arrives once, in order, and unchanged.
//   - Statuses: OK only with all messages, and what the handler has returned otherwise; CANCELLED, DEADLINE_EXCEEDED
//     and UNAVAILABLE only where there was a reason, and a deadline not before its time.
//   - Nobody waits without a reason. At the end of each history there are no more faults, and all programs come to
//     their end. When nothing more can happen unless the clock moves, each call whose handler has returned is
//     over, and no handler waits for a client that is gone. When the clock has moved on, all calls are over.
//   - When the channel is closed and the server stopped, no goroutine is left on either side.
//
// Room to write is given when bytes arrive, and not when they are read: a side that does not read keeps nobody from
// writing. So what waits behind a side whose reader waits is not found.
//
// Locks are a limit: who waits for one is not at rest for a bubble. Where the published module holds a lock while it waits
// for the network, the history ends, and is counted.
package crossing
