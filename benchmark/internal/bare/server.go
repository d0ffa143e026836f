// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"net"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/protobuf/proto"
)

// Handler answers a call.
type Handler func(context.Context, *benchpb.Message) (*benchpb.Message, error)

// call is one that a goroutine is to answer.
type call struct {
	id  uint32
	req *benchpb.Message
}

// Serve answers the calls of one connection until it ends, or a handler fails. A goroutine that
// has answered a call takes another one.
func Serve(conn net.Conn, handle Handler) {
	defer conn.Close()
	w := &writer{conn: conn}
	next := make(chan call)
	defer close(next)
	work := func(c call) {
		for ok := true; ok; c, ok = <-next {
			answer, err := handle(context.Background(), c.req)
			if err == nil {
				err = w.send(c.id, answer)
			}
			if err != nil {
				conn.Close()
			}
		}
	}
	_ = receive(conn, func(id uint32, message []byte) error {
		c := call{id, new(benchpb.Message)}
		if err := proto.Unmarshal(message, c.req); err != nil {
			return err
		}
		select {
		case next <- c:
		default:
			go work(c)
		}
		return nil
	})
}
