// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// noLimit is a limit that the peer did not set.
const noLimit = math.MaxUint32

// remoteSettings is what the peer told us to keep to, RFC 9113 section 6.5.2.
type remoteSettings struct {
	initialWindow uint32
	maxFrame      uint32
	maxHeaderList uint32
}

var initialRemote = remoteSettings{
	initialWindow: flow.DefaultWindow,
	maxFrame:      frame.MinMaxFrameSize,
	maxHeaderList: noLimit,
}

func (c *Config) streamWindow() uint32 {
	if c.StreamWindow == 0 {
		return flow.DefaultWindow
	}
	return c.StreamWindow
}

func (c *Config) maxStreams() uint32 {
	if c.MaxStreams == 0 {
		return math.MaxUint32
	}
	return c.MaxStreams
}

// appendLocalSettings sends what we want the peer to keep to. Values that are
// the protocol's defaults are left out.
func (c *Conn) appendLocalSettings() {
	var list [7]frame.Setting
	n := 0
	add := func(id frame.SettingID, v uint32) { list[n] = frame.Setting{ID: id, Value: v}; n++ }
	if c.side == Client {
		add(frame.EnablePush, 0)
	}
	if c.cfg.MaxStreams != 0 && c.cfg.MaxStreams != math.MaxUint32 {
		add(frame.MaxConcurrentStreams, c.cfg.MaxStreams)
	}
	if c.window != flow.DefaultWindow {
		add(frame.InitialWindowSize, c.window)
	}
	if m := c.cfg.maxFrame(); m != frame.MinMaxFrameSize {
		add(frame.MaxFrameSize, m)
	}
	if c.cfg.MaxHeaderList != 0 || c.cfg.NoHeaderList {
		add(frame.MaxHeaderListSize, c.cfg.MaxHeaderList)
	}
	if c.cfg.HeaderTable != nil {
		add(frame.HeaderTableSize, *c.cfg.HeaderTable)
	}
	c.out.reserve(frame.HeaderLen+6*n, c.cfg.Pool)
	c.out.b = frame.AppendSettings(c.out.b, list[:n]...)
	c.acksDue++
}

// onSettings obeys the peer's settings, in their order, and acknowledges them.
// Of several initial windows only the last moves those of the streams.
func (c *Conn) onSettings(h frame.Header, p []byte) error {
	list, err := frame.ParseSettings(h, p)
	if err != nil {
		return err
	}
	if h.Flags.Has(frame.FlagAck) {
		return c.onSettingsAck()
	}
	if list.Len() > maxSettings {
		return frame.ConnError(frame.EnhanceYourCalm, "too many settings in one frame")
	}
	c.mu.Lock()
	if err := c.applyAll(list); err != nil {
		c.mu.Unlock()
		return err
	}
	c.out.reserve(frame.HeaderLen, c.cfg.Pool)
	c.out.b = frame.AppendSettingsAck(c.out.b)
	c.replies++
	c.mu.Unlock()
	c.act.caused = true
	if !c.gotPreface {
		c.gotPreface = true
		c.prefaceArrived()
		c.handler.Ready()
	}
	return nil
}

// onSettingsAck takes the peer's word that it has applied our SETTINGS. Only
// from here on does it have to keep to what they lowered: the initial window,
// and the HPACK table's bound.
func (c *Conn) onSettingsAck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acksDue == 0 {
		// RFC 9113 has no rule for it. Something that shares the port, such as cmux, may
		// have sent SETTINGS before us, which the peer rightly acknowledges.
		return c.useless()
	}
	c.acksDue--
	if c.granted > c.window {
		delta := int64(c.window) - int64(c.granted)
		c.granted = c.window
		for _, s := range c.table.byID {
			_ = s.in.AdjustInitial(delta) // it fails only for growth
			if inc := s.in.Consume(0); inc > 0 {
				c.appendWindowUpdate(s.id, inc)
			}
		}
	}
	if t := c.cfg.HeaderTable; t != nil {
		c.act.dec.SetAllowedMaxTableSize(*t)
	}
	return nil
}

func (c *Conn) applyAll(list frame.SettingsView) error {
	initial := c.remote.initialWindow
	for i := range list.Len() {
		s := list.At(i)
		if err := c.apply(s); err != nil {
			return err
		}
		if s.ID == frame.InitialWindowSize {
			initial = s.Value
		}
	}
	return c.moveOutflows(initial)
}

// apply checks s, and obeys it unless it is about the initial window.
func (c *Conn) apply(s frame.Setting) error {
	if err := s.Check(); err != nil {
		return err
	}
	switch s.ID {
	case frame.HeaderTableSize:
		c.encoder().enc.SetMaxTableSize(s.Value)
	case frame.EnablePush:
		// "A client MUST treat receipt of a SETTINGS frame with
		// SETTINGS_ENABLE_PUSH set to 1 as a connection error of type
		// PROTOCOL_ERROR", section 6.5.2.
		if c.side == Client && s.Value != 0 {
			return frame.ConnError(frame.ProtocolError, "a server may not enable push")
		}
	case frame.MaxConcurrentStreams:
		c.table.setMaxLocal(s.Value)
	case frame.MaxFrameSize:
		c.remote.maxFrame = s.Value
	case frame.MaxHeaderListSize:
		c.remote.maxHeaderList = s.Value
	}
	return nil
}

// moveOutflows gives the streams' send windows the difference, section 6.9.2.
func (c *Conn) moveOutflows(initial uint32) error {
	delta := int64(initial) - int64(c.remote.initialWindow)
	if delta == 0 {
		return nil
	}
	c.remote.initialWindow = initial
	for _, s := range c.table.byID {
		if err := s.out.AdjustInitial(delta); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
		if s.pending != nil && s.out.Window() > 0 {
			c.sched.add(s)
		}
	}
	return nil
}

// growWindows makes n the receive window of the connection and of every
// stream, as the estimator found that the path can carry it; less where a
// stream's window, which may be wide for one large message, would pass 2^31-1:
// the peer would have to close the connection. mu is held.
func (c *Conn) growWindows(n uint32) {
	for _, s := range c.table.byID {
		n = uint32(min(int64(n), int64(c.granted)+s.in.Headroom()))
	}
	if n <= c.window {
		return
	}
	delta := int64(n) - int64(c.granted)
	c.window, c.granted = n, max(n, c.granted)
	c.out.reserve(2*frame.HeaderLen+6+4, c.cfg.Pool)
	c.out.b = frame.AppendSettings(c.out.b, frame.Setting{ID: frame.InitialWindowSize, Value: n})
	c.acksDue++
	for _, s := range c.table.byID {
		if delta <= 0 {
			break // they have as much already
		}
		_ = s.in.AdjustInitial(delta) // there is room
	}
	if inc := c.inflow.SetTarget(max(n, c.cfg.ConnWindow)); inc > 0 {
		c.out.b = frame.AppendWindowUpdate(c.out.b, 0, inc)
	}
}
