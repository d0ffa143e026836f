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
	// Pool supplies the buffers for frames that are read and written.
	Pool mem.BufferPool
	// ReadBuffer is the size of a read buffer in bytes. A value below 16 KiB plus a frame header counts
	// as that.
	ReadBuffer int
	// WriteBuffer is how many bytes of DATA one write takes at most, from 256 KiB to 1 MiB. A value
	// outside that range counts as the nearest bound.
	WriteBuffer int
	// Pooled asks for a read buffer that is held only while there are bytes in it, if the connection
	// allows that.
	Pooled bool

	// StreamWindow and ConnWindow are the initial receive windows in bytes. 0 means 65,535. With
	// StaticWindow they never change. Otherwise they grow with what the path can carry, and a
	// ConnWindow of 0 grows to at least wideWindow: see "Sizes of receive windows" in the documentation
	// of package h2.
	StreamWindow uint32
	ConnWindow   uint32
	StaticWindow bool

	// MaxFrame is SETTINGS_MAX_FRAME_SIZE: the payload, in bytes, of the largest frame that the peer
	// may send. 0 means the protocol's 16,384. The part of a large DATA frame that has not arrived with
	// the frame's header is read to its destination without a copy.
	MaxFrame uint32

	// MaxStreams is how many streams the peer may have open at a time. 0 means no limit.
	MaxStreams uint32
	// MaxHeaderList bounds the header list of one block that the peer sends, in bytes as RFC 9113
	// section 6.5.2 counts. 0 means 16 MiB.
	MaxHeaderList uint32
	NoHeaderList  bool // a MaxHeaderList of 0 means 0: no field is accepted
	// MaxHeld bounds what the peer makes a connection hold, in bytes of memory. Past it no stream is
	// accepted, and past twice as much the connection ends. 0 means 256 MiB.
	MaxHeld int64
	// HeaderTable is the SETTINGS_HEADER_TABLE_SIZE that we announce. Nil means the protocol's 4,096.
	HeaderTable *uint32
	// Kinds classifies header fields for the role (the client or server code above the connection).
	Kinds *hpack.Kinds

	// PrefaceTimeout bounds how long the peer's preface and first SETTINGS may take. 0 means no bound.
	PrefaceTimeout time.Duration
	// Panics is told of a panic that ends a connection and not the process: see Contain. If it is nil,
	// such a panic ends the process.
	Panics PanicLog
	// Driver has settings that only the driver reads.
	Driver any
	// TrackIdle records when the last stream ended: see Conn.Idle of package h2.
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

// maxQueued returns how many bytes of DATA may wait on all streams of a connection. Past it a stream
// takes one message at a time. The memory for them is at most about two and a half times as much
// (send_queue.go).
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

// FrameLimit returns the longest payload, in bytes, that a frame from the peer may have.
func (c *Config) FrameLimit() uint32 {
	return max(c.MaxFrame, frame.MinMaxFrameSize)
}

func (c *Config) streamWindow() uint32 {
	if c.StreamWindow == 0 {
		return flow.DefaultWindow
	}
	return c.StreamWindow
}

// wideWindow returns the size in bytes that the connection's receive window gets with its first update;
// 0 means that it does not change. The window costs no memory, because the windows of the streams bound
// what was sent and not read. Where each of many streams receives a little now and then, most window
// updates are the connection's, and each of them would wake the peer. The window is no wider, because
// it also bounds how much of many large messages can be ahead of a small one on a slow path.
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

// settings returns the settings that we send, appended to list. It leaves out values that are the
// protocol's defaults.
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
