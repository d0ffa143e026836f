// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math"
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// Config has the settings of connections. One Config serves any number of
// connections and is not changed once the first has started.
type Config struct {
	// Pool lends the buffers frames are read into and written from.
	Pool mem.BufferPool
	// ReadBuffer is the size of a read buffer in bytes; less than a frame of
	// 16 KiB with its header counts as that.
	ReadBuffer int
	// WriteBuffer is how many bytes of DATA one write takes at most, from 256 KiB,
	// which smaller values count as, to 1 MiB.
	WriteBuffer int
	// Pooled asks for a read buffer that is held only while there are bytes in
	// it, where the connection allows it.
	Pooled bool

	// StreamWindow and ConnWindow are the initial receive windows in bytes; 0
	// stands for 65,535. With StaticWindow they stay what they are, else they
	// grow with what the path can carry, and a ConnWindow of 0 to at least
	// wideWindow: see "Sizes of receive windows" in the package comment.
	StreamWindow uint32
	ConnWindow   uint32
	StaticWindow bool

	// MaxFrame is SETTINGS_MAX_FRAME_SIZE: the payload, in bytes, of the largest
	// frame that the peer may send; 0 stands for the protocol's 16,384. Larger
	// frames of DATA are read to their destination without a copy.
	MaxFrame uint32

	// MaxStreams is how many streams the peer may have open at a time; 0
	// stands for no limit.
	MaxStreams uint32
	// MaxHeaderList bounds the header list of one block that the peer sends,
	// as RFC 9113 section 6.5.2 counts it; 0 stands for 16 MiB.
	MaxHeaderList uint32
	NoHeaderList  bool // the bound is 0 itself: no field is taken
	// MaxHeld bounds what the peer makes a connection hold, in bytes of memory: past
	// it no stream is accepted, past twice as much the connection ends. 0 stands for
	// 256 MiB.
	MaxHeld int64
	// HeaderTable is SETTINGS_HEADER_TABLE_SIZE as announced; nil stands for
	// the protocol's 4,096.
	HeaderTable *uint32
	// Kinds names the header fields the role looks for.
	Kinds *hpack.Kinds

	// PrefaceTimeout bounds how long the peer's preface and first SETTINGS may
	// take; 0 is without bound.
	PrefaceTimeout time.Duration
	// Panics is told of panics that end a connection, in place of the process: see Contain. Nil
	// lets them end the process.
	Panics PanicLog
	// Driver is for the driver alone.
	Driver any
	// TrackIdle keeps the time since which no stream is open: see Conn.Idle.
	TrackIdle bool
	Keepalive Keepalive
}

const (
	defaultMaxHeaderList = 16 << 20
	defaultMaxHeld       = 256 << 20
)

func (c *Config) maxHeld() int64 {
	if c.MaxHeld == 0 {
		return defaultMaxHeld
	}
	return c.MaxHeld
}

// maxQueued is how many bytes of DATA may wait on all streams of a connection before a stream takes
// one message at a time. Their memory is at most about two and a half times as much (send_queue.go).
func (c *Config) maxQueued() int64 { return c.maxHeld() / 4 }

func (c *Config) maxHeaderList() uint32 {
	if c.MaxHeaderList == 0 && !c.NoHeaderList {
		return defaultMaxHeaderList
	}
	return c.MaxHeaderList
}

func (c *Config) maxParcel() int {
	return min(max(c.WriteBuffer, minMaxParcel), maxMaxParcel)
}

// FrameLimit is how long the payload of a frame of the peer's may be, in bytes.
func (c *Config) FrameLimit() uint32 {
	return max(c.MaxFrame, frame.MinMaxFrameSize)
}

func (c *Config) streamWindow() uint32 {
	if c.StreamWindow == 0 {
		return flow.DefaultWindow
	}
	return c.StreamWindow
}

// wideWindow is what the connection's receive window becomes with its first update, in bytes; 0
// stands for no change. It costs no memory: the windows of the streams bound what was sent and nobody
// has read. Where each of many streams is sent little, now and then, most updates are the
// connection's, and each would wake the peer. It is no wider because it also bounds for how
// much of many large messages a small one has to wait on a slow path.
func (c *Config) wideWindow() uint32 {
	if c.StaticWindow || c.ConnWindow != 0 {
		return 0
	}
	return 1 << 20
}

func (c *Config) maxStreams() uint32 {
	if c.MaxStreams == 0 {
		return math.MaxUint32
	}
	return c.MaxStreams
}

// settings are what we want the peer to keep to. Values that are the protocol's defaults
// are left out. list is where to put them.
func (c *Config) settings(side Side, list []frame.Setting) []frame.Setting {
	add := func(id frame.SettingID, v uint32) { list = append(list, frame.Setting{ID: id, Value: v}) }
	if side == Client {
		add(frame.EnablePush, 0)
	}
	if c.MaxStreams != 0 && c.MaxStreams != math.MaxUint32 {
		add(frame.MaxConcurrentStreams, c.MaxStreams)
	}
	if w := c.streamWindow(); w != flow.DefaultWindow {
		add(frame.InitialWindowSize, w)
	}
	if m := c.FrameLimit(); m != frame.MinMaxFrameSize {
		add(frame.MaxFrameSize, m)
	}
	if c.MaxHeaderList != 0 || c.NoHeaderList {
		add(frame.MaxHeaderListSize, c.MaxHeaderList)
	}
	if c.HeaderTable != nil {
		add(frame.HeaderTableSize, *c.HeaderTable)
	}
	return list
}
