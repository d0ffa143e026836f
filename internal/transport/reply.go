// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// reply is what a handler says in addition to its messages, on a server of either kind. A stream embeds it,
// and so has its exported methods, which any goroutine may call at any time. Its lock is the stream's.
type reply struct {
	sendCompress atomic.Pointer[string] // set with mu; nil: the messages are not compressed

	mu       sync.Mutex                // guards the rest
	ownCold  atomic.Pointer[coldState] // set with mu, by mutableCold; nil: emptyCold
	headers  headerState
	finished bool
	decided  bool // see Decide
	// Owned by the handler's goroutine, and afterwards by the call's owner.
	watched bool // see Watched
	counted bool // see Enters
}

// Enters says that the call has a place among those that the server takes at a time.
func (r *reply) Enters() { r.counted = true }

// Leaves reports, once, that the call still has that place. The first caller for which the call is over
// gives it up.
func (r *reply) Leaves() (first bool) {
	first, r.counted = r.counted, false
	return first
}

// Watched says that who ends the call tells programs of that after it is queued. They take what time they
// like, and the handler counts as running meanwhile.
func (r *reply) Watched() { r.watched = true }

// coldState is state that few streams need.
type coldState struct {
	header  metadata.MD
	trailer metadata.MD
	spoilt  *status.Status // what the call ends with unless the handler fails it; nil: nothing

	// Of a ServerStream alone.
	bodyErr    *status.Status // what was wrong with the request's body
	length     contentLength  // of the rest of that
	headersOut chan struct{}  // closed when headersGoing is over; nil while nobody waits
	timer      *time.Timer    // of the deadline; nil until somebody waits
	bound      *bound         // nil: there is none
}

// emptyCold is the cold state of most streams. It is never changed.
var emptyCold = coldState{length: noLength}

// cold returns the stream's cold state, for reading. mu is held, except by readers of what does not change
// any more: all of it once the call is finished, and the header once it is sent.
func (r *reply) cold() *coldState {
	if s := r.ownCold.Load(); s != nil {
		return s
	}
	return &emptyCold
}

// mutableCold returns the stream's cold state, for writing. It allocates it if there is none. mu is held.
func (r *reply) mutableCold() *coldState {
	s := r.ownCold.Load()
	if s == nil {
		own := emptyCold
		s = &own
		r.ownCold.Store(s)
	}
	return s
}

// headerState is how far the response headers are.
type headerState uint8

const (
	headersUnsent headerState = iota
	headersGoing              // a goroutine is about to send them; others wait until it has
	headersSent
)

// SetHeader adds to the metadata that the response headers will carry.
func (r *reply) SetHeader(md metadata.MD) error { return r.setHeader(md, metadata.Join) }

// ReplaceHeader is SetHeader, but replaces the values of keys that are there already.
func (r *reply) ReplaceHeader(md metadata.MD) error { return r.setHeader(md, override) }

// override joins mds. Of a key that several have, the last one's values stay.
func override(mds ...metadata.MD) metadata.MD {
	out := metadata.MD{}
	for _, md := range mds {
		maps.Copy(out, md)
	}
	return out
}

func (r *reply) setHeader(md metadata.MD, join func(...metadata.MD) metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.headers != headersUnsent || r.finished {
		return errHeaderSent
	}
	cold := r.mutableCold()
	cold.header = join(cold.header, md)
	return nil
}

// SetTrailer adds to the metadata that the trailers will carry.
func (r *reply) SetTrailer(md metadata.MD) error { return r.setTrailer(md, metadata.Join) }

// ReplaceTrailer is SetTrailer, but replaces the values of keys that are there already.
func (r *reply) ReplaceTrailer(md metadata.MD) error { return r.setTrailer(md, override) }

func (r *reply) setTrailer(md metadata.MD, join func(...metadata.MD) metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.finished {
		return errFinished // the trailers may be on their way
	}
	cold := r.mutableCold()
	cold.trailer = join(cold.trailer, md)
	return nil
}

// spoil makes the call end with err, even if the handler succeeds, unless how it ends is decided. mu is held.
func (r *reply) spoil(err error) error {
	if !r.finished && !r.decided && r.cold().spoilt == nil {
		r.mutableCold().spoilt = status.Convert(err)
	}
	return err
}

// Decide returns the status that Finish sends when it is given st: st, or why the metadata that the handler has
// set can't be sent. From then on no metadata changes that. A nil status stands for OK.
func (r *reply) Decide(st *status.Status) *status.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decideLocked(st)
}

func (r *reply) decideLocked(st *status.Status) *status.Status {
	r.decided = true
	if spoilt := r.cold().spoilt; spoilt != nil && (st == nil || st.Code() == codes.OK) {
		return spoilt
	}
	return st
}

// SetSendCompress names the encoding of the messages to send. It fails once the
// response headers are sent.
func (r *reply) SetSendCompress(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.headers != headersUnsent || r.finished {
		return errCompressLate
	}
	r.sendCompress.Store(&name)
	return nil
}

// SendCompress returns the encoding of the messages that are sent, "" for none.
func (r *reply) SendCompress() string {
	if name := r.sendCompress.Load(); name != nil {
		return *name
	}
	return ""
}

// Headers returns the metadata set so far, which belongs to the stream.
func (r *reply) Headers() metadata.MD {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cold().header
}

// Trailers returns the trailers set so far, which belong to the stream.
func (r *reply) Trailers() metadata.MD {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cold().trailer
}

// plainHeaders is how large the metadata of response headers may be for IsPlain, counted as in RFC 9113,
// section 6.5.2. Clients accept that much unless they are told to accept less than 2 KiB, as a whole: of one
// that does not, stats handlers are told of a reply that is then refused.
const plainHeaders = 1 << 10

// IsPlain reports whether a message can be sent unless the stream is lost: the call has not ended, and the
// response headers were sent, or are not large.
func (r *reply) IsPlain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cold := r.cold(); r.finished || cold.spoilt != nil {
		return false
	}
	switch r.headers {
	case headersSent:
		return true
	case headersGoing: // they may be refused
		return false
	}
	size := 0
	for k, vs := range r.cold().header {
		for _, v := range vs {
			size += len(k) + len(v) + 32
		}
	}
	return size <= plainHeaders
}

// HeaderSent reports whether response headers have been sent.
func (r *reply) HeaderSent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers != headersUnsent
}
