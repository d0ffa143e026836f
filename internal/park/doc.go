// SPDX-License-Identifier: Apache-2.0

// Package park lets a connection wait for input without a goroutine.
//
// A connection's reader that finds nothing to read parks its [Handle] and
// returns; its goroutine, its stack and its buffers are then free for others. A
// process has one poller, which hears from the kernel that a parked connection is
// readable (or ended, or failed) and wakes its [Owner], or runs it.
// The poller starts with the first connection that parks and stops with the
// last registered one that closes, or can't park any more: a program whose connections are closed has
// no goroutine and no descriptor of this package.
//
// # The reader's role
//
// At each moment the role of a connection's reader has one holder, or nobody
// holds it and the handle is parked. It changes hands at one atomic word only:
//
//   - Park gives it up. From there on the holder touches nothing that belongs to
//     the reader, for the wake may have happened before Park returns.
//   - Wake or Run, called by the poller or the walk, confers it.
//   - Kick takes it, if it returns true, and so does Take.
//   - Close ends it. If it returns true nobody held it, no Wake will come, and
//     the caller runs what the reader does at its end.
//
// # Leader and followers
//
// Where a backend lets several goroutines wait, one of them is the leader, and takes the events. When it
// has taken one it makes another goroutine, which waits already, the leader, and reads the connection
// itself: see followers. So an event wakes one goroutine, and the handler of a small call runs on it, too.
//
// Where events are frequent that goroutine goes on to the next connection that has input, for a
// moment, before it waits again: a few connections are read one after the other sooner than
// goroutines, and threads, wake for them.
//
// Where many connections have input at once their owners are woken a batch at a time. The next batch waits
// until the owners of the last one have run, or block: see wakeThrottle. So a burst takes the stacks and
// buffers of hundreds of readers, not of all.
//
// # Wakes
//
// No wake is lost: the kernel looks at the socket when it is armed, so what
// arrived before Park wakes at once; and a Kick that finds the reader at work
// leaves a note that makes its next Park fail.
//
// If a program keeps the socket of a connection and closes it, the socket leaves the kernel's set without
// an event. A slow walk finds such sockets and wakes their owners as the poller does. While any handle is
// parked it looks every five seconds, at all handles if there are up to 16,384; of more it looks at a part,
// so that each is looked at within two and a half minutes. The walk is one timer, which stops with the
// poller.
//
// # Systems
//
// Linux uses an epoll set, itself watched by the Go runtime's poller, so that
// goroutines wait without a thread; there are up to three, a leader and followers. macOS
// and the BSDs use kqueue, and Windows polls of its socket driver that end on a completion
// port; both keep one blocked thread. The state machine runs in tests against a fake of
// each of the three kernels; tools/systems says what else has run where. Elsewhere, and for
// what is not a socket, Park fails and the caller keeps a goroutine in a read.
//
// The package knows descriptors and callbacks, nothing of what they carry.
//
// [Sweeper] is the other half of going idle: it finds, with one timer for the
// whole process, the connections that have been quiet for a while. Those that the system
// has refused to watch have another one, which has them ask again.
package park
