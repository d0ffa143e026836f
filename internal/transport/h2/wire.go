// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// wire is the net.Conn below, with the optional interfaces that it has. Immutable.
type wire struct {
	nc  net.Conn
	try readyreader.Writer // nil if the connection can't be written without waiting
}

func newWire(nc net.Conn) wire {
	w := wire{nc: nc}
	if try, ok := readyreader.NewWriter(nc); ok {
		w.try = try
	}
	return w
}

// traits is a set of what is always true of a wire.
type traits uint8

const (
	writesWait traits = 1 << iota // each write has to wait, as nobody knows what it does
	holdsBytes                    // a layer, such as TLS, may hold a part of a record
)

func (t traits) has(one traits) bool { return t&one != 0 }

func (w *wire) traits() (t traits) {
	if w.try == nil || readyreader.WriteWaits(w.try) {
		t |= writesWait
	}
	if w.holder() != nil {
		t |= holdsBytes
	}
	return t
}

// holder is the layer, such as TLS, that may hold a part of a record; nil if there is none.
func (w *wire) holder() readyreader.Holder {
	if h, ok := w.nc.(readyreader.Holder); ok {
		return h
	}
	h, _ := w.try.(readyreader.Holder) // the layer is within a wrapper
	return h
}

// readUntil bounds the wait for input; the zero time lifts the bound. Conn.mu is held.
func (w *wire) readUntil(t time.Time) { w.nc.SetReadDeadline(t) }

// interrupt ends the reader's wait, and sets flag before. It is not for a connection that rests.
func (w *wire) interrupt(flag interface{ Store(bool) }) {
	flag.Store(true)
	w.nc.SetReadDeadline(time.Unix(1, 0))
}

// held is the memory, in bytes, that a secure connection holds of records: see Stats.Partial.
func (w *wire) held() int {
	if h := w.holder(); h != nil {
		return h.Held()
	}
	return 0
}

// closeWrite ends our direction, and reports whether that is possible.
func (w *wire) closeWrite() bool {
	half, ok := w.nc.(readyreader.HalfCloser)
	return ok && half.CloseWrite() == nil
}

// releaseIdle has a layer give back what only a busy connection needs.
func (w *wire) releaseIdle() {
	if r, ok := w.nc.(readyreader.IdleReleaser); ok {
		r.ReleaseIdle()
	} else if r, ok := w.try.(readyreader.IdleReleaser); ok { // the layer is within a wrapper
		r.ReleaseIdle()
	}
}

// uncopiedAlone is what uncopied returns where each piece needs a call of the system.
const uncopiedAlone = 64 << 10

// uncopied is from how many bytes on a piece of a message is written from where it is, without a
// copy.
func (w *wire) uncopied() int {
	if try, ok := w.try.(readyreader.VectorWriter); ok {
		return try.LeastPiece()
	}
	return uncopiedAlone
}

// tryWrite writes what the socket takes of p.
func (w *wire) tryWrite(p *protocol.Parcel) (int, error) {
	if p.Whole() {
		return w.try.TryWrite(p.Head())
	}
	v := p.Vector(0)
	if try, ok := w.try.(readyreader.VectorWriter); ok {
		return try.TryWriteVector(v)
	}
	written := 0
	for _, b := range v {
		if len(b) == 0 {
			continue
		}
		n, err := w.try.TryWrite(b)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// write writes p from off on, and may wait. Where nothing of p is left it still calls
// Write once: a layer may hold what it took before, and writes that then.
func (w *wire) write(p *protocol.Parcel, off int) error {
	if p.Whole() || off == p.Size() {
		_, err := w.writePiece(p.Head()[min(off, len(p.Head())):])
		return err
	}
	v := p.Vector(off)
	if vw, ok := w.try.(readyreader.VectorWriter); ok {
		_, err := vw.WriteVector(v)
		return err
	}
	for _, b := range v {
		if len(b) == 0 {
			continue
		}
		if _, err := w.writePiece(b); err != nil {
			return err
		}
	}
	return nil
}

// writePiece may wait.
func (w *wire) writePiece(p []byte) (int, error) {
	if w.try != nil {
		return w.try.Write(p)
	}
	return w.nc.Write(p)
}
