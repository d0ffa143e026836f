// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// sendPreface queues what this side begins with, RFC 9113 section 3.4.
func (c *locked) sendPreface() {
	if c.streams.side == Client {
		c.out.preface()
	}
	var list [7]frame.Setting
	c.out.settings(c.out.cfg.settings(c.streams.side, list[:0])...)
	c.windows.SettingsSent()
	if w := c.out.cfg.ConnWindow; w > flow.DefaultWindow {
		c.out.windowUpdate(0, c.windows.SetRecv(w))
	}
	if c.out.cfg.PrefaceTimeout > 0 {
		c.wire.readUntil(time.Now().Add(c.out.cfg.PrefaceTimeout))
	}
}

// readPreface takes the client's first bytes, on a server.
func (r *reader) readPreface() error {
	if r.streams.side == Client {
		return nil
	}
	// The first four bytes are checked by themselves, so that a peer that sends less than a
	// preface, such as a short request of HTTP/1, gets an error and not a timeout.
	for _, n := range [...]int{4, len(frame.ClientPreface)} {
		b, err := r.await(n)
		if err != nil {
			return err
		}
		// "Clients and servers MUST treat an invalid connection preface as a
		// connection error of type PROTOCOL_ERROR."
		if string(b) != frame.ClientPreface[:n] {
			return frame.ConnError(frame.ProtocolError, "the connection does not begin with the HTTP/2 preface")
		}
	}
	return r.skip(len(frame.ClientPreface))
}

// onSettings obeys the peer's settings, in their order, and acknowledges them.
// Of several initial windows only the last moves those of the streams.
func (r *reader) onSettings(h frame.Header, p []byte) error {
	list, err := frame.ParseSettings(h, p)
	if err != nil {
		return err
	}
	if h.Flags.Has(frame.FlagAck) {
		return r.onSettingsAck()
	}
	if list.Len() > maxSettings {
		return frame.ConnError(frame.EnhanceYourCalm, "too many settings in one frame")
	}
	c := r.lock()
	walked, err := c.obey(list)
	if err != nil {
		c.unlock()
		return err
	}
	r.in.act.walked(walked)
	c.out.settingsAck()
	c.unlock()
	r.tellPlaces(list)
	r.in.act.caused = true
	if !r.in.gotPreface {
		r.in.gotPreface = true
		r.prefaceArrived()
		r.handler.Ready()
	}
	return nil
}

// placesWatcher is a Handler that wants to know how many streams the peer lets be open.
type placesWatcher interface{ Places(n uint32) }

// tellPlaces tells a placesWatcher, with no lock held; of the first SETTINGS before Ready.
func (r *reader) tellPlaces(list frame.SettingsView) {
	w, ok := r.handler.(placesWatcher)
	if !ok {
		return
	}
	for i := range list.Len() {
		if s := list.At(i); s.ID == frame.MaxConcurrentStreams {
			w.Places(s.Value)
		}
	}
}

// prefaceArrived ends the time limit on the preface.
func (r *reader) prefaceArrived() {
	c := r.lock()
	defer c.unlock()
	if c.out.cfg.PrefaceTimeout > 0 && !c.life.dead() {
		c.wire.readUntil(time.Time{})
	}
	c.startKeepalive()
}

// onSettingsAck takes the peer's word that it has applied our SETTINGS. Only
// from here on does it have to keep to what they lowered: the initial window,
// and the HPACK table's bound.
func (r *reader) onSettingsAck() error {
	c := r.lock()
	defer c.unlock()
	delta, ok := c.windows.SettingsAcked()
	if !ok {
		// RFC 9113 has no rule for it. Something that shares the port, such as cmux, may
		// have sent SETTINGS before us, which the peer rightly acknowledges.
		return r.in.act.useless()
	}
	if delta < 0 {
		for s := range c.streams.byID.all() {
			_ = s.in.AdjustInitial(delta) // it fails only for growth
			c.out.windowUpdate(s.id, s.in.Lowered())
		}
	}
	if t := c.out.cfg.HeaderTable; t != nil {
		r.in.act.dec.SetAllowedMaxTableSize(*t)
	}
	return nil
}

// obey returns how many streams it walked over.
func (c *locked) obey(list frame.SettingsView) (walked int, err error) {
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

// obeyOne checks s, and obeys it unless it is about the initial window.
func (c *locked) obeyOne(s frame.Setting) error {
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

// moveOutflows gives the streams' send windows the difference, section 6.9.2, and returns how many
// there are.
func (c *locked) moveOutflows(delta int64) (streams int, err error) {
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
