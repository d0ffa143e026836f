// SPDX-License-Identifier: Apache-2.0

// Package tlsbuf reaches into a tls.Conn, by unsafe, for the buffers in which it holds on to memory, and
// for the connection that it runs over. No other package does that for these: package tlsconn decides when,
// and tries it out before it relies on it. Fields are found by name and type. If one has another name or
// type, [Found] returns false and nothing here may be called. In builds with the tag grpcnotlsrelease it
// always returns false.
//
// # What is assumed of crypto/tls
//
//   - rawInput, input and hand belong to the goroutine in Read once the handshake is over, and nothing else
//     uses them. So the holder of the reader's role may look at them and set them between two Reads.
//   - A buffer that is empty is as good as a new one: only input keeps a slice of it from one Read to the
//     next, and input says how much of that is left.
//   - Read leaves the part of a record that it has in rawInput when the connection below it returns a
//     temporary error.
//
// # What if one of these is not so
//
// If a future crypto/tls kept a slice of what rawInput lent it, and that memory went back to a pool,
// another connection's bytes would be read or overwritten through the slice. So it does not go back: with a
// version of Go that is not in the list below ([Tested]), memory is lent once and then left to the garbage
// collector, which frees nothing that somebody still refers to. Then only the saving can be lost, not the
// bytes. A tls.Conn that expected its own memory in rawInput would read garbage in place of what it has not
// read yet. Records are authenticated, so that ends the connection with an error and changes no byte.
//
// Before that, three things tell: the trial at the first connection of a process, which takes the buffers
// away at every opportunity and compares what arrives; the tests of tlsconn, which do the same under the
// race detector, where a buffer that went back to the pool is overwritten with a pattern; and the test that
// fails with a version of Go that nobody has looked at. A program that does not want to rely on that has
// the environment variable GRPC_GO_EXPERIMENTAL_TLS_IDLE_RELEASE and the tag.
//
// | Go | fields | trial | buffers |
// |---|---|---|---|
// | 1.26, 1.27 | found | passes; all tests pass | released, and lent from the process's pool |
// | another, or a development build | found | passes | released; lent memory is not used again |
// | another | found | fails | left to crypto/tls; tlsconn.StoodAside says why |
// | any | not found, or the tag grpcnotlsrelease | does not run | left to crypto/tls |
package tlsbuf
