// SPDX-License-Identifier: Apache-2.0

// Package tlsbuf reaches into a tls.Conn, by unsafe, for the buffers in which it holds on to memory,
// and for the connection that it runs over. It is all there is of that: package tlsconn decides
// when, and tries it out before it relies on it. Fields are found by name and type; where one has
// another, [Found] reports false and nothing here may be called. In builds with the tag
// grpcnotlsrelease it always does.
//
// # What is assumed of crypto/tls
//
//   - rawInput, input and hand belong to who is in Read once the handshake is over, and are used by
//     nobody else. So they may be looked at and set between two Reads by who has the reader's role.
//   - A buffer that is empty is as good as a new one: no slice of it is kept from one Read to the
//     next but by input, which says how much of it is left.
//   - Read leaves the part of a record that it has in rawInput when the connection below it
//     returns a temporary error.
//
// If a future crypto/tls kept a slice of what rawInput lent it, that memory would be given to
// another connection while it is in use. Three things stand against it: the trial at the first
// connection of a process, which takes the buffers away at every opportunity and compares what
// arrives; the tests of tlsconn, which do the same under the race detector, where a buffer that
// went back to the pool is overwritten with a pattern, so that what is kept would show; and the
// list of Go versions in tlsconn's tests, which fail with one that nobody has looked at. A
// program that does not want to rely on that has the variable and the tag.
//
// Tested in full with Go 1.26 and 1.27, which are found to be as assumed. Any other version is
// tried at run time, and left alone where the trial fails: tlsconn.StoodAside says why.
package tlsbuf
