// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("transport")

// unwatched says that tellUnwatched has logged: a process that runs out of descriptors has
// many connections, and one line is enough.
var unwatched atomic.Bool

// unwatchable returns why a connection is not parked if the system refuses to watch its socket.
func unwatchable(err error) string { return "the system refuses to watch its socket: " + err.Error() }

// tellUnwatched logs that the system refuses to watch sockets, the first time. It is out of
// descriptors (EMFILE, ENFILE), of watches (ENOSPC: fs.epoll.max_user_watches) or of memory.
func tellUnwatched(err error) {
	if unwatched.CompareAndSwap(false, true) {
		logger.Warningf("the system refuses to watch sockets, and connections that go idle keep a goroutine and a buffer each: %v", err)
	}
}
