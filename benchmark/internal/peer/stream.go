// SPDX-License-Identifier: Apache-2.0

package peer

import "google.golang.org/grpc/benchmark/benchpb"

// Source is a stream to read from. At a server Recv fails with io.EOF when the client has sent all.
type Source interface {
	Recv() (*benchpb.Message, error)
}

// Talk is either end of a bidirectional stream. Recv fails with io.EOF when the other side has
// sent all.
type Talk interface {
	Source
	Sink
}

// Sink is a stream to write to.
type Sink interface {
	Send(m *benchpb.Message) error
}
