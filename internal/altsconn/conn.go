// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// Config is what a handshake agreed on, and how to run the connection.
type Config struct {
	// Side is this end's side.
	Side Side
	// Protocol is AES128GCM or AES128GCMRekey.
	Protocol string
	// Key is the protocol's key, of KeySize(Protocol) bytes. It is copied.
	Key []byte
	// MaxRecord bounds the records written, in bytes, with header and tag. 0 stands for DefaultRecord.
	// Other values below MinRecord count as MinRecord, and those above the constant MaxRecord as that.
	MaxRecord int
	// Leftover is input that was read behind the handshake. It is copied.
	Leftover []byte
	// Pool lends the buffers; nil is mem's default pool.
	Pool mem.BufferPool
	// LowWater lets a read that waits for the rest of a large record ask the
	// kernel to wake it once all of that is there (SO_RCVLOWAT): fewer wake-ups,
	// somewhat less throughput. Only Linux and TCP have it.
	LowWater bool
}

// New returns a connection over s, through which the handshake has read, and which it owns from then on.
//
// The connection is a readyreader.Layer, too. If s is a TCP or unix socket, or a wrapper that leaves its reads
// to one, and the system allows it, the connection is read without waiting, and also written if s's Write is
// the socket's. Over another layer it waits in that layer's calls.
func New(s readyreader.Socket, cfg Config) (net.Conn, error) {
	return newOver(s, cfg, readyreader.ReadsSocket(s.Conn))
}

// Over is New for something that is no socket. It uses raw without waiting if it can; ok says whether it
// does.
func Over(raw net.Conn, cfg Config) (c *Socket, ok bool, err error) {
	nc, err := newOver(readyreader.NewSocket(raw), cfg, true)
	c, ok = nc.(*Socket)
	return c, ok, err
}

// newOver is New. It reads s without waiting only if try is true, and s can be read so: then the socket below
// alone tells when to read again.
func newOver(s readyreader.Socket, cfg Config, try bool) (net.Conn, error) {
	c := &conn{Conn: s.Conn}
	try = try && s.Can().Has(readyreader.ReadsReady|readyreader.TriesReads)
	if err := c.init(s, try, &cfg); err != nil {
		return nil, err
	}
	if try {
		return &Socket{c}, nil
	}
	return c, nil
}

// conn is an ALTS connection over any net.Conn. It passes on the addresses and deadlines of the embedded
// one.
type conn struct {
	readyreader.BaseLayer
	net.Conn
	closed atomic.Bool

	rmu sync.Mutex
	in  reader // guarded by rmu

	wmu sync.Mutex
	out writer // guarded by wmu
}

func (c *conn) init(s readyreader.Socket, try bool, cfg *Config) error {
	sealing, opening, err := newCrypters(cfg.Protocol, cfg.Key)
	if err != nil {
		return err
	}
	if cfg.Side == Server {
		sealing, opening = opening, sealing
	}
	pool := cfg.Pool
	if pool == nil {
		pool = mem.DefaultBufferPool()
	}
	c.out.init(s, sealing, cfg.MaxRecord, pool)
	c.in.init(s, try, opening, pool)
	if cfg.LowWater {
		c.in.low = newLowWater(c.Conn)
	}
	c.in.preload(cfg.Leftover)
	return nil
}

// Can implements readyreader.Layer.
func (c *conn) Can() readyreader.Ability { return readyreader.ReadsReady | readyreader.HoldsBytes }

// Read implements net.Conn. It waits for one record at most.
func (c *conn) Read(p []byte) (int, error) {
	c.rmu.Lock()
	defer c.unlockRead()
	return c.in.read(p, mayWait)
}

// ReadOnReady implements readyreader.Layer.
func (c *conn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	c.rmu.Lock()
	defer c.unlockRead()
	return c.in.lend(size, pool, mayWait)
}

// Write implements net.Conn and readyreader.Layer. It first writes what a TryWrite has left inside; an
// empty p asks for that alone. After an error, n bytes of p are sealed, and the last of them may not have
// been sent yet. After a deadline the next call goes on where this one stopped.
func (c *conn) Write(p []byte) (int, error) {
	c.wmu.Lock()
	defer c.unlockWrite()
	return c.out.write([][]byte{p}, c.out.sock.Conn.Write)
}

// Close closes the connection below and gives up the buffers. Calls that are under way end with an error.
func (c *conn) Close() error {
	c.closed.Store(true)
	err := c.Conn.Close()
	// A goroutine that holds a lock looks at closed when it lets go.
	if c.rmu.TryLock() {
		c.unlockRead()
	}
	if c.wmu.TryLock() {
		c.unlockWrite()
	}
	return err
}

// Held returns the memory, in bytes, of what was read and is not taken: usually a part of a record. It may
// be called at any time.
func (c *conn) Held() int {
	if !c.rmu.TryLock() {
		return c.in.retained.Load()
	}
	defer c.unlockRead()
	return c.in.held.Memory()
}

// Retained returns the memory, in bytes, of the part of a record that the connection holds while it waits
// for the rest. It may be called at any time.
func (c *conn) Retained() int { return c.in.retained.Load() }

// CountIn makes c add what it retains to sum, until the connection is closed. It must be called before the
// first read.
func (c *conn) CountIn(sum *atomic.Int64) {
	c.rmu.Lock()
	defer c.unlockRead()
	c.in.retained.CountIn(sum)
}

// ReleaseIdle implements readyreader.Layer. The reader calls it before it leaves the connection alone for a
// while: memory that is not needed meanwhile is dropped.
func (c *conn) ReleaseIdle() {
	c.rmu.Lock()
	c.in.settle()
	c.in.retained.Set(c.in.held.Memory())
	c.in.chunk = c.in.floor
	c.unlockRead()
}

func (c *conn) unlockRead() {
	if c.closed.Load() {
		c.in.drop()
	}
	c.rmu.Unlock()
	// Close may have come between that check and the unlock, and have failed to get the lock.
	if c.closed.Load() && c.rmu.TryLock() {
		c.in.drop()
		c.rmu.Unlock()
	}
}

func (c *conn) unlockWrite() {
	if c.closed.Load() {
		c.out.close()
	}
	c.wmu.Unlock()
	if c.closed.Load() && c.wmu.TryLock() {
		c.out.close()
		c.wmu.Unlock()
	}
}

// Socket is a connection that never waits for input if it is asked not to.
type Socket struct{ *conn }

var (
	_ readyreader.Layer = (*Socket)(nil)
	_ readyreader.Layer = (*conn)(nil)
)

// Can implements readyreader.Layer.
func (c *Socket) Can() readyreader.Ability {
	return c.conn.Can() | readyreader.TriesReads | readyreader.TakesVectors | c.out.sock.Can()&readyreader.TriesWrites
}

// TryRead implements readyreader.Layer.
func (c *Socket) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	c.rmu.Lock()
	defer c.unlockRead()
	return c.in.lend(size, pool, dontWait)
}

// TryReadInto implements readyreader.Layer.
func (c *Socket) TryReadInto(p []byte) (int, error) {
	c.rmu.Lock()
	defer c.unlockRead()
	return c.in.read(p, dontWait)
}

// RawConn implements readyreader.Layer: the socket, which carries ciphertext.
func (c *Socket) RawConn() syscall.RawConn { return c.in.src.RawConn() }

// TryWrite implements readyreader.Layer. The bytes that it counts as written are sealed. After
// ErrWouldBlock some of the ciphertext is still inside, even if n is len(p): the next call of TryWrite or
// Write sends it, even a Write of nothing.
func (c *Socket) TryWrite(p []byte) (int, error) { return c.TryWriteVector([][]byte{p}) }

// LeastPiece implements readyreader.Layer: a piece has records of its own.
func (c *Socket) LeastPiece() int { return leastPiece }

// TryWriteVector implements readyreader.Layer.
func (c *Socket) TryWriteVector(pieces [][]byte) (int, error) {
	c.wmu.Lock()
	defer c.unlockWrite()
	return c.out.write(pieces, c.out.sock.TryWrite)
}

// WriteVector implements readyreader.Layer.
func (c *Socket) WriteVector(pieces [][]byte) (int, error) {
	c.wmu.Lock()
	defer c.unlockWrite()
	return c.out.write(pieces, c.out.sock.Conn.Write)
}
