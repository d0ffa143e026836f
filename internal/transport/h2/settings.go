// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// readPreface reads the client's preface, on a server.
func (r *reader) readPreface() error {
	if r.core.Side() == protocol.Client {
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

// onSettings obeys the peer's settings, and acknowledges them.
func (r *reader) onSettings(h frame.Header, p []byte) error {
	c := r.lock()
	list, ack, err := c.core.OnSettings(&r.in.act.Intake, h, p)
	c.unlock()
	if err != nil || ack {
		return err
	}
	r.tellPlaces(list)
	if (*Conn)(r).move(begin) == opening {
		r.prefaceArrived()
		r.handler.Ready()
	}
	return nil
}

// placesWatcher is an optional interface of a Handler that wants to know how many streams the peer lets
// us have open.
type placesWatcher interface{ Places(n uint32) }

// tellPlaces tells a placesWatcher, with no lock held. For the first SETTINGS it does so before Ready.
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

// prefaceArrived ends the time limit for the preface, and starts keepalive.
func (r *reader) prefaceArrived() {
	c := r.lock()
	defer c.unlock()
	if c.core.Config().PrefaceTimeout > 0 && !c.core.IsDead() {
		c.wire.readUntil(time.Time{})
		c.keepalive.stop() // until here it was the time limit
		c.keepalive.armed = false
	}
	c.startKeepalive()
}
