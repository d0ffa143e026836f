// SPDX-License-Identifier: Apache-2.0

package protocol

// Config returns the Config that New was given. Config and Side may be called without the lock.
func (c *Conn) Config() *Config { return c.out.cfg }

// Side returns the side that New was given. It may be called without the lock.
func (c *Conn) Side() Side { return c.streams.side }

// IsDead reports whether the connection has ended.
func (c *Conn) IsDead() bool { return c.life.dead() }

// IsMute reports whether nothing more is written.
func (c *Conn) IsMute() bool { return c.life.mute }

// IsDraining reports whether Drain was called while the connection was alive.
func (c *Conn) IsDraining() bool { return c.life.drain != notDraining }

// OpenStreams returns how many streams are open.
func (c *Conn) OpenStreams() int { return c.streams.open() }

// Cause returns why the connection ended, or nil if it has not.
func (c *Conn) Cause() error {
	if c.end == nil {
		return nil
	}
	return c.end.cause
}

// State describes a connection at one moment.
type State struct {
	SendWindow uint32 // bytes of DATA that we may send
	RecvWindow uint32 // bytes of DATA that the peer may send
	Held       int64  // memory in bytes that is charged for what came from the peer
	Streams    int    // how many streams are open

	Records int64 // the memory, in bytes, of incomplete records of a security protocol
	Queued  int   // what waits to be sent, in bytes: the memory of encoded frames, and the DATA that waits for windows
}

// State returns the state of the connection.
func (c *Conn) State() State {
	return State{
		Streams:    c.streams.open(),
		Held:       c.account.held,
		Records:    int64(c.account.records),
		Queued:     c.out.buf.memory() + int(c.streams.queued),
		SendWindow: c.windows.Send().Window(),
		RecvWindow: c.windows.Recv(),
	}
}
