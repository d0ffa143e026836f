// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// sendPreface queues the preface of this side, RFC 9113 section 3.4.
func (c *Conn) sendPreface() {
	if c.streams.side == Client {
		c.out.preface()
	}
	var list [7]frame.Setting
	c.out.settings(c.out.cfg.settings(c.streams.side, list[:0])...)
	c.windows.SettingsSent()
	if w := c.out.cfg.ConnWindow; w > flow.DefaultWindow {
		c.out.windowUpdate(0, c.windows.SetRecv(w))
	}
}

// OnSettings obeys the peer's settings, in their order, and acknowledges them. Of several initial
// windows only the last one changes the windows of the streams. ack reports that the frame acknowledges
// our SETTINGS; list is empty then.
func (c *Conn) OnSettings(in *Intake, h frame.Header, p []byte) (list frame.SettingsView, ack bool, err error) {
	if list, err = frame.ParseSettings(h, p); err != nil {
		return list, false, err
	}
	if h.Flags.Has(frame.FlagAck) {
		return list, true, c.onSettingsAck(in)
	}
	if list.Len() > MaxSettings {
		return list, false, frame.ConnError(frame.EnhanceYourCalm, "too many settings in one frame")
	}
	walked, err := c.obey(list)
	if err != nil {
		return list, false, err
	}
	// To wake a call for a place that the peer has taken back costs as much as a frame, or more.
	in.flood.walked(walked+c.streams.takeMisled()*streamsPerFrame, in.Now)
	c.out.settingsAck()
	in.Induced = true
	return list, false, nil
}

// onSettingsAck handles the acknowledgement of our SETTINGS. Only from here on does the peer have to
// obey values that our SETTINGS lowered: the initial window, and the bound on the HPACK table.
//
// A server does not hold its client to a lowered bound on the table, which RFC 9113 section 4.3.1 calls
// for: what was acknowledged may be the SETTINGS of something that shares the port, such as cmux, and
// ours may be still on their way. The client's table then has the 4096 octets that it has by default.
func (c *Conn) onSettingsAck(in *Intake) error {
	delta, ok := c.windows.SettingsAcked()
	if !ok {
		// RFC 9113 has no rule for it. Something that shares the port may have sent SETTINGS
		// before us, which the peer rightly acknowledges.
		return in.Useless()
	}
	if delta < 0 {
		for s := range c.streams.byID.all() {
			_ = s.in.AdjustInitial(delta) // it fails only for growth
			c.out.windowUpdate(s.id, s.in.Lowered())
		}
	}
	if t := c.out.cfg.HeaderTable; t != nil && (c.streams.side == Client || *t > hpack.DefaultTableSize) {
		in.dec.SetAllowedMaxTableSize(*t)
	}
	return nil
}

// obey applies the settings in list. It returns over how many streams it iterated.
func (c *Conn) obey(list frame.SettingsView) (walked int, err error) {
	var initial uint32
	moved := false
	for i := range list.Len() {
		s := list.At(i)
		if err := c.obeyOne(s); err != nil {
			return 0, err
		}
		if s.ID == frame.InitialWindowSize {
			initial, moved = s.Value, true
		}
	}
	if !moved {
		return 0, nil
	}
	return c.moveOutflows(c.windows.SetPeerInitial(initial))
}

// obeyOne checks s and applies it, unless it is the initial window.
func (c *Conn) obeyOne(s frame.Setting) error {
	if err := s.Check(); err != nil {
		return err
	}
	switch s.ID {
	case frame.HeaderTableSize:
		c.out.encoder().enc.SetMaxTableSize(s.Value)
	case frame.EnablePush:
		// "A client MUST treat receipt of a SETTINGS frame with
		// SETTINGS_ENABLE_PUSH set to 1 as a connection error of type
		// PROTOCOL_ERROR", section 6.5.2.
		if c.streams.side == Client && s.Value != 0 {
			return frame.ConnError(frame.ProtocolError, "a server may not enable push")
		}
	case frame.MaxConcurrentStreams:
		c.streams.setMaxLocal(s.Value)
	case frame.MaxFrameSize:
		c.out.maxFrame = s.Value
	case frame.MaxHeaderListSize:
		c.out.maxHeaderList = s.Value
	}
	return nil
}

// moveOutflows changes the send windows of all streams by delta, section 6.9.2. DATA that waits on a
// stream may go where that opens its window. moveOutflows returns how many streams there are.
func (c *Conn) moveOutflows(delta int64) (streams int, err error) {
	if delta == 0 {
		return 0, nil
	}
	for s := range c.streams.byID.all() {
		if err := s.out.AdjustInitial(delta); err != nil {
			return 0, frame.ConnError(frame.FlowControlError, err.Error())
		}
		c.streams.schedule(s)
	}
	return c.streams.open(), nil
}
