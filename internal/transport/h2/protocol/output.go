// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// The eight bytes of a PING that we send say what it is for.
var (
	bdpPing   = [8]byte{'b', 'd', 'p'}
	AlivePing = [8]byte{'a', 'l', 'i', 'v', 'e'}
	DrainPing = [8]byte{'d', 'r', 'a', 'i', 'n'}
)

// noLimit is the value of a limit that the peer did not set.
const noLimit = math.MaxUint32

// output is what has to be written, and which goroutine writes it.
type output struct {
	cfg     *Config      // the connection's; immutable
	buf     Parcel       // frames in wire format
	coder   *coder       // encodes header blocks; nil while the connection is parked
	sending hpack.Frozen // the HPACK state of coder while that is nil

	updates int32  // window updates in buf
	replies uint16 // other frames in buf that the peer caused; MaxReplies keeps it small

	token  tokenState
	reader ReaderState

	// What the peer's SETTINGS say.
	maxFrame      uint32
	maxHeaderList uint32
}

// tokenState is where the write token is.
type tokenState uint8

const (
	tokenFree  tokenState = iota
	tokenHeld             // a goroutine writes, and will call Take again
	tokenLoose            // a goroutine writes, and need not call Take again: see Conn.LoosenToken
)

func newOutput(cfg *Config) output {
	return output{cfg: cfg, maxFrame: frame.MinMaxFrameSize, maxHeaderList: noLimit}
}

// unsent reports whether there is output that the system has not taken yet.
func (o *output) unsent() bool { return o.token != tokenFree || !o.buf.empty() }

// drop frees what is queued.
func (o *output) drop() {
	o.buf.Free(o.cfg.Pool)
	o.replies, o.updates = 0, 0
}

// take hands over what is queued to the goroutine that writes it.
func (o *output) take() Parcel {
	b := o.buf
	o.buf = Parcel{}
	o.replies, o.updates = 0, 0
	return b
}

// full reports whether the peer has made us queue so much that nothing more should be read before some
// of it is written. streams is how many are open. opening means that the peer wants to open another
// stream, which causes more output.
func (o *output) full(streams int, opening bool) bool {
	return o.replies > MaxReplies || int(o.updates) > maxUpdates+updatesPerStream*streams ||
		opening && o.buf.Size() > MaxOutput
}

// room makes room for a frame with n bytes of payload, and returns the slice to append the frame to.
func (o *output) room(n int) []byte {
	o.buf.reserve(frame.HeaderLen+n, o.cfg.Pool)
	return o.buf.held.b
}

func (o *output) preface() {
	o.buf.held.b = append(o.room(len(frame.ClientPreface)), frame.ClientPreface...)
}

func (o *output) settings(list ...frame.Setting) {
	o.buf.held.b = frame.AppendSettings(o.room(6*len(list)), list...)
}

func (o *output) settingsAck() {
	o.buf.held.b = frame.AppendSettingsAck(o.room(0))
	o.replies++
}

func (o *output) ping(data [8]byte) { o.buf.held.b = frame.AppendPing(o.room(8), false, data) }

func (o *output) pong(data [8]byte) {
	o.buf.held.b = frame.AppendPing(o.room(8), true, data)
	o.replies++
}

func (o *output) windowUpdate(id, inc uint32) {
	if inc > 0 {
		o.buf.held.b = frame.AppendWindowUpdate(o.room(4), id, inc)
		o.updates++
	}
}

func (o *output) reset(id uint32, code frame.ErrCode) {
	o.buf.held.b = frame.AppendRSTStream(o.room(4), id, code)
}

func (o *output) goAway(last uint32, code frame.ErrCode, debug string) {
	o.buf.adopt(frame.AppendGoAway(o.room(256), last, code, []byte(debug)), o.cfg.Pool)
}

// endOfData queues the empty DATA frame that ends a stream.
func (o *output) endOfData(id uint32) { o.buf.held.b = frame.AppendDataHeader(o.room(0), id, 0, true) }

// headers encodes the fields of f as a HEADERS frame, and CONTINUATION frames if they need more than
// one.
func (o *output) headers(id uint32, f FieldSource, end bool) {
	o.buf.reserve(1<<10, o.cfg.Pool)
	start := len(o.buf.held.b)
	e := o.encoder()
	w := &e.writer
	w.buf = e.enc.Begin(frame.ReserveHeaders(o.buf.held.b))
	f.AppendFields(w)
	block := w.buf
	w.buf = nil
	o.buf.adopt(frame.FinishHeaders(block, start, id, end, o.maxFrame), o.cfg.Pool)
}

// encoder returns the coder. If there is none, as after the connection was parked, it makes one from
// the HPACK state that freeze kept.
func (o *output) encoder() *coder {
	if o.coder == nil {
		e := coders.Get().(*coder)
		if o.sending.IsNew() {
			e.enc.Init(hpack.MaxEncoderTable)
		} else {
			e.enc.Thaw(o.sending)
		}
		o.coder = e
	}
	return o.coder
}

// freeze keeps the coder's HPACK state, and gives the coder back to the pool.
func (o *output) freeze() {
	e := o.coder
	if e == nil {
		return
	}
	o.sending = e.enc.Freeze()
	o.dropCoder()
}

// freezeIfSlim is called after each block that was encoded. While the connection is parked there is no
// reader that would give the coder back, so freezeIfSlim does.
func (o *output) freezeIfSlim() {
	if o.reader == readerAway {
		o.freeze()
	}
}

func (o *output) dropCoder() {
	e := o.coder
	if e == nil {
		return
	}
	o.coder = nil
	if e.enc.Cap() <= maxPooledTable {
		e.seen = seenFields{}
		coders.Put(e)
	}
}
