// SPDX-License-Identifier: Apache-2.0

// Package interop tests ALTS between this module and the published
// google.golang.org/grpc. It is a module of its own: its tests build the program peer
// twice from one source, against this module (go.mod) and against the published one
// (published.mod).
//
// The published module does ALTS only on Google's platform, which it recognizes by the
// machine's product name. The programs therefore run in a mount namespace of their
// own with Google's product name. Where the system doesn't permit that, the tests
// are skipped.
//
//	go test .                    the cases, both ways, at every record size
//	go test -run - -bench .      large messages, both implementations in turn
package interop
