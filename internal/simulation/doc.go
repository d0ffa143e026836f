// SPDX-License-Identifier: Apache-2.0

// Package simulation runs clients and servers of package transport, and of package h2 below it,
// over a simulated network, poller and clock. A seed determines everything that happens: which
// goroutine runs next, how many bytes arrive, when a wake-up comes and whether it comes twice, what
// programs do, and what fails. The package has only tests.
//
// # A history
//
// A history is one simulated run: one or more connections, their calls, and the end of all of them.
// It is a loop of single steps (world_test.go). All goroutines are in a bubble of testing/synctest,
// and between two steps all of them are blocked: at a call of a socket (socket_test.go), before a
// step of a program (program_test.go), or before their first instruction. A step lets one of them
// continue, or makes something happen: bytes arrive, the poller reports an event, the clock moves,
// or there is a fault. A history is therefore determined by a list of small numbers, the choices
// (choose_test.go), and running the same list again repeats the history.
//
// Each history chooses anew which faults may happen and what programs tend to do (swarm testing).
//
// In some histories a channel of package channel is in front of several servers: its round_robin or
// pick_first policy picks the connection of each call, while servers start and stop and the
// resolver's addresses change (balanced_test.go, policy_test.go). Some calls that fail are retried
// (rpc_test.go), and some are hedged (hedged_test.go), as packages retry and hedge decide. Some
// connections use TLS or ALTS records (secure_test.go, alts_test.go).
//
// # What is checked
//
//   - Messages: each arrives once, in order, and unchanged (program_test.go).
//   - Statuses: they are those that a reference model expects (model_test.go, balanced_call_test.go).
//   - The policy: it picks READY connections, in turn, and reports to the channel the states that
//     were reported to it; no call waits for a connection while there is one; after a server refuses
//     a connection, there is a pause before the next attempt; pick_first tries an address as soon as
//     another has failed; each open connection has a use (policy_test.go).
//   - Windows and accounts: when the network is quiet, both ends agree about the window of each
//     connection (streams' windows are not compared), and a connection's account charges at least
//     the memory that it holds (model_test.go); while windows are static, none is widened for what
//     nobody waits for (progress_test.go).
//   - Frames: each end keeps to what the other has allowed (observer_test.go).
//   - Wake-ups: when nothing more can happen unless the clock moves, each call that should have
//     ended has ended. Where all programs of a connection wait for messages, each message that was
//     sent has been written and taken; each PING has its answer, and a drain its second step
//     (progress_test.go).
//   - The end: no goroutine, buffer, socket or registration with the poller is left.
//
// Both ends are this module. Beside the published module package attack/internal/crossing simulates it. What only other
// implementations send (settings that change, unknown frames, priorities) is tested by the tests of h2 and flow, by
// package attack, and by fuzzing.
//
// # How to run it
//
//	make simulate ARGS="-for 20s -seed 7"
//
// For a seed that fails, the simulation prints the history, and a shorter one that fails in the same
// way. Choices that have failed before are in testdata/corpus, and each test runs them. States and
// transitions of interest are counted when they are reached (cover_test.go), and those that never
// were are listed.
package simulation
