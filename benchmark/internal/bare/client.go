// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/protobuf/proto"
)

// Conn is a client's connection. Many goroutines can make calls at the same time.
type Conn struct {
	writer writer

	mu    sync.Mutex
	calls []*pending // by number
	free  []uint32
	err   error // no call is begun any more
}

// pending is a call that waits for its answer, or one that may be made.
type pending struct {
	answer proto.Message
	done   chan error // has room for one
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

var errMethod = errors.New("bare: only Echo can be called")

// NewConn makes calls over conn, until that is closed.
func NewConn(conn net.Conn) *Conn {
	c := &Conn{writer: writer{conn: conn}}
	go c.read()
	return c
}

// Invoke makes a call, and waits for its answer.
func (c *Conn) Invoke(_ context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	if method != benchpb.Bench_Echo_FullMethodName {
		return errMethod
	}
	id, p, err := c.begin(reply.(proto.Message))
	if err != nil {
		return err
	}
	if err := c.writer.send(id, args.(proto.Message)); err != nil {
		return err
	}
	err = <-p.done
	c.mu.Lock()
	c.free = append(c.free, id)
	c.mu.Unlock()
	return err
}

// NewStream fails: there are no streams.
func (c *Conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errMethod
}

func (c *Conn) begin(answer proto.Message) (uint32, *pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, c.err
	}
	var id uint32
	if n := len(c.free); n > 0 {
		id, c.free = c.free[n-1], c.free[:n-1]
	} else {
		id = uint32(len(c.calls))
		c.calls = append(c.calls, &pending{done: make(chan error, 1)})
	}
	p := c.calls[id]
	p.answer = answer
	return id, p, nil
}

func (c *Conn) read() {
	err := receive(c.writer.conn, func(id uint32, message []byte) error {
		p, err := c.take(id)
		if err == nil {
			p.done <- proto.Unmarshal(message, p.answer)
		}
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, p := range c.calls {
		if p.answer != nil {
			p.answer = nil
			p.done <- err
		}
	}
}

// take returns the call that an answer is for.
func (c *Conn) take(id uint32) (pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int(id) >= len(c.calls) || c.calls[id].answer == nil {
		return pending{}, errors.New("bare: an answer to no call")
	}
	p := *c.calls[id]
	c.calls[id].answer = nil
	return p, nil
}
