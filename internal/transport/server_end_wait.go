// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// boundEnd follows the end of a call's handler: where ServerConfig.EndWait says so, a client that
// reads nothing of what is left for that long has its stream reset.
func (s *ServerStream) boundEnd() {
	wait := s.server.host.EndWait
	if wait <= 0 {
		return
	}
	if left, open := s.h2.Unsent(); open {
		boundEnd(&s.h2, wait, left)
	}
}

func boundEnd(st *h2.Stream, wait time.Duration, left int) {
	time.AfterFunc(wait, func() {
		now, open := st.Unsent()
		switch {
		case !open:
		case now < left:
			boundEnd(st, wait, now)
		default:
			st.Reset(frame.Cancel)
		}
	})
}
