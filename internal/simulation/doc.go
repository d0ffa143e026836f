// SPDX-License-Identifier: Apache-2.0

// Package simulation runs clients and servers of package transport, and of package h2 below it,
// over a network, a poller and a clock of its own, and has a seed decide all that happens: which
// goroutine goes on, how many bytes arrive, when a wake-up comes and whether it comes twice, what
// programs do, what breaks. It has tests alone: no program links it.
//
// # A history
//
// A history is what one seed does: one or more connections, their calls, and the end of all of
// them. It is a loop of single steps (world_test.go). Between two steps all goroutines stand still,
// in a bubble of testing/synctest. They stop at each call of a socket (socket_test.go), before each
// step of a program (program_test.go), and before their first instruction; a step lets one of them
// go on, or has something happen: bytes arrive, an event is told, the clock moves, a fault. So what
// a history does is a list of small numbers, the choices (choose_test.go), and the same list does it
// again.
//
// Which faults there are, and what programs like to do, is chosen for each history anew: a swarm.
//
// In some histories a channel of package channel is in front of several servers: its round_robin or
// pick_first gives each call its connection, while servers and resolver come and go
// (balanced_test.go, policy_test.go). Some calls are made again when they fail (rpc_test.go), and some
// are hedged (hedged_test.go), as packages retry and hedge decide. Some connections have TLS or the
// records of ALTS between their ends (secure_test.go, alts_test.go).
//
// # What is checked
//
//   - Messages: each arrives once, in order, as it was sent (program_test.go).
//   - Statuses: as a reference model says (model_test.go, balanced_call_test.go).
//   - The policy: it picks what is READY, in turn, and what it tells the channel is what it was told;
//     nobody waits for a connection while there is one; a server that refuses is left alone for a
//     while (policy_test.go).
//   - Windows and accounts: when the network is quiet, both ends agree about each connection's
//     windows (not the streams'), and what is charged covers what is held (model_test.go).
//   - Frames: each end keeps to what the other has allowed (observer_test.go).
//   - Wake-ups: when nothing more can happen without the clock, each call that is to end has ended.
//   - The end: no goroutine, buffer, socket or arming is left.
//
// Both ends are this module: what only others send (settings that come and go, unknown frames, priorities)
// is for the tests of h2 and flow, for attack, and for fuzzing.
//
// # How to run it
//
//	make simulate ARGS="-for 20s -seed 7"
//
// A seed that fails prints its history, and a shorter one that fails in the same way. Choices that
// ever failed are in testdata/corpus and run in each test. Points of interest that were reached are
// counted (cover_test.go); those that never were are listed.
package simulation
