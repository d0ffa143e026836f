// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
	"google.golang.org/grpc/attack/internal/wire"
)

type (
	attack = func(*attacker.Attacker) error
	conn   = attacker.Conn
	script = func(*attacker.Conn) error
)

var limited = orders.Serve{MaxStreams: 100}

// flood runs round over n connections again and again. They read what comes, or not: then
// their receive buffers are small, so that what is sent to them stays with the victim.
func flood(n int, reads bool, round script) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *attacker.Conn) error {
			listen(c, reads)
			return repeat(c, round)
		})
	}
}

// hold runs once over n connections, and leaves them open.
func hold(n int, reads bool, once script) attack {
	return func(a *attacker.Attacker) error {
		return a.Conns(n, func(c *attacker.Conn) error {
			listen(c, reads)
			if err := once(c); err != nil {
				return err
			}
			return c.Flush()
		})
	}
}

func listen(c *attacker.Conn, reads bool) {
	if reads {
		c.Drain(nil)
	} else {
		c.Narrow()
	}
}

func repeat(c *attacker.Conn, round script) error {
	for !c.Over() {
		if err := round(c); err != nil {
			return err
		}
	}
	return c.Flush()
}

// every runs round at an interval.
func every(c *attacker.Conn, interval time.Duration, round script) error {
	for c.Attacker().Sleep(interval) {
		if err := round(c); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// frame is a round that sends one frame, again and again.
func frame(typ, flags byte, stream uint32, payload []byte) script {
	return func(c *attacker.Conn) error { return c.Frame(typ, flags, stream, payload) }
}

// request is a round that opens a stream with a header block and ends it.
func request(block []byte) script {
	return func(c *attacker.Conn) error { return c.Headers(c.Stream(), wire.EndStream, block) }
}

// open opens n streams of a method whose calls last.
func open(c *attacker.Conn, n int, method string) ([]uint32, error) {
	return openBlock(c, n, wire.Request(method))
}

// openBlock opens n streams with a header block.
func openBlock(c *attacker.Conn, n int, block []byte) ([]uint32, error) {
	var ids []uint32
	for range n {
		id := c.Stream()
		ids = append(ids, id)
		if err := c.Headers(id, 0, block); err != nil {
			return ids, err
		}
	}
	return ids, c.Flush()
}

// bytesOf is n bytes of text.
func bytesOf(n int) string { return strings.Repeat("x", n) }

// errAgain ends a connection, so that the next is opened.
var errAgain = errors.New("once more")

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
