// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// wire is the net.Conn below, with its Layer: how it is read and written. Immutable.
type wire struct{ readyreader.Socket }

// abilities returns the abilities of the wire that cfg allows it to use. They never change.
func (w *wire) abilities(cfg *protocol.Config) readyreader.Ability {
	can := w.Can()
	if !cfg.Pooled {
		can &^= readyreader.ReadsReady | readyreader.TriesReads | readyreader.WaitsInRead
	}
	if readyreader.DeadlinesEndReads(w.Conn) {
		can |= readyreader.EndsReads
	}
	return can
}

// readUntil bounds the wait for input; the zero time lifts the bound. The caller holds Conn.mu.
func (w *wire) readUntil(t time.Time) { w.Conn.SetReadDeadline(t) }

// interrupt sets flag and then ends the reader's wait. It must not be called for a connection that
// rests.
func (w *wire) interrupt(flag interface{ Store(bool) }) {
	flag.Store(true)
	w.Conn.SetReadDeadline(time.Unix(1, 0))
}

// closeWrite ends our direction of the connection, and reports whether that is possible.
func (w *wire) closeWrite() bool { return readyreader.CloseWrite(w.Conn) == nil }

// tryWrite writes as much of p as the socket takes without waiting.
func (w *wire) tryWrite(p *protocol.Parcel) (int, error) {
	if p.Whole() {
		return w.TryWrite(p.Head())
	}
	v := p.Vector(0)
	if w.Can().Has(readyreader.TakesVectors) {
		return w.TryWriteVector(v)
	}
	written := 0
	for _, b := range v {
		if len(b) == 0 {
			continue
		}
		n, err := w.TryWrite(b)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// write writes p from the offset off, and may wait. If nothing of p is left it still calls Write once,
// because a layer may hold bytes that it took before, and writes them then.
func (w *wire) write(p *protocol.Parcel, off int) error {
	if p.Whole() || off == p.Size() {
		_, err := w.Write(p.Head()[min(off, len(p.Head())):])
		return err
	}
	v := p.Vector(off)
	if w.Can().Has(readyreader.TakesVectors) {
		_, err := w.WriteVector(v)
		return err
	}
	for _, b := range v {
		if len(b) == 0 {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
