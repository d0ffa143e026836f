// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// reply is what a handler says beside its messages, on a server of either kind: a stream
// embeds it, and has its exported methods, which any goroutine may call at any time.
type reply struct {
	sendCompress atomic.Pointer[string] // set with the lock; nil: the messages are not compressed

	lock *sync.Mutex // the stream's, which guards the rest

	header   metadata.MD
	trailer  metadata.MD
	spoilt   *status.Status // what the call ends with unless the handler fails it; nil: nothing
	headers  headerState
	finished bool
	bare     bool // the response is trailers only
}

// headerState is how far the response headers are.
type headerState uint8

const (
	headersUnsent headerState = iota
	headersGoing              // a goroutine is about to send them; others wait until it has
	headersSent
)

// SetHeader adds to the metadata that the response headers will carry.
func (r *reply) SetHeader(md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.headers != headersUnsent || r.finished {
		return errHeaderSent
	}
	r.header = metadata.Join(r.header, md)
	return nil
}

// SetTrailer adds to the metadata that the trailers will carry.
func (r *reply) SetTrailer(md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.finished {
		return errFinished // the trailers may be on their way
	}
	r.trailer = metadata.Join(r.trailer, md)
	return nil
}

// spoil makes the call end with err, even if the handler succeeds. The lock is held.
func (r *reply) spoil(err error) error {
	if r.spoilt == nil {
		r.spoilt = status.Convert(err)
	}
	return err
}

// SetSendCompress names the encoding of the messages to send. It fails once the
// response headers are sent.
func (r *reply) SetSendCompress(name string) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.headers != headersUnsent || r.finished {
		return errCompressLate
	}
	r.sendCompress.Store(&name)
	return nil
}

// SendCompress is the encoding of the messages that are sent, "" for none.
func (r *reply) SendCompress() string {
	if name := r.sendCompress.Load(); name != nil {
		return *name
	}
	return ""
}

// Headers returns the metadata set so far, which belongs to the stream.
func (r *reply) Headers() metadata.MD {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.header
}

// Trailers returns the trailers set so far, which belong to the stream.
func (r *reply) Trailers() metadata.MD {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.trailer
}

// HeaderSent reports whether response headers have been sent.
func (r *reply) HeaderSent() bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.headers != headersUnsent
}
