// SPDX-License-Identifier: Apache-2.0

// Package wrappers has the kinds of wrapper that programs put around their connections, for
// tests to run over each of them. It is for tests only.
//
// [Kinds] is the list. The tests of this package run what can happen to a connection over each kind, at
// both ends, over TCP and unix sockets, in plain text and with our TLS, and behind a port of package
// oneport: wake-ups at any time, Close of the wrapper and of what is below it, deadlines, resets,
// half-closed connections, input that arrives in pieces, late, or not to its end. The tests of
// internal/tlsconn run the cases of TLS over each kind that can be read without waiting: KeyUpdates,
// records in parts, alerts, Close and deadlines in the middle of a record.
package wrappers
