// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// reply is what a handler says beside its messages, on a server of either kind. It is
// guarded by a mutex of the stream that embeds it, which its methods take.
type reply struct {
	header       metadata.MD
	trailer      metadata.MD
	spoilt       *status.Status // what the call ends with in any case; nil: the handler says
	sendCompress string
	headers      headerState
	finished     bool
	bare         bool // there are no headers: the trailers are all
}

// headerState is how far the response headers are.
type headerState uint8

const (
	headersUnsent headerState = iota
	headersGoing              // a goroutine is about to send them; the others wait, so that they are first
	headersSent
)

func (r *reply) setHeader(mu *sync.Mutex, md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.headers != headersUnsent || r.finished {
		return errHeaderSent
	}
	r.header = metadata.Join(r.header, md)
	return nil
}

func (r *reply) setTrailer(mu *sync.Mutex, md metadata.MD) error {
	if len(md) == 0 {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	if err := CheckReply(md); err != nil {
		return r.spoil(err)
	}
	if r.finished {
		return errFinished // the trailers may be on their way
	}
	r.trailer = metadata.Join(r.trailer, md)
	return nil
}

// spoil makes the call end with err, whatever the handler says. The mutex is held.
func (r *reply) spoil(err error) error {
	if r.spoilt == nil {
		r.spoilt = status.Convert(err)
	}
	return err
}

func (r *reply) setSendCompress(mu *sync.Mutex, name string) error {
	mu.Lock()
	defer mu.Unlock()
	if r.headers != headersUnsent || r.finished {
		return errCompressLate
	}
	r.sendCompress = name
	return nil
}

// look returns what is said so far.
func (r *reply) look(mu *sync.Mutex) reply {
	mu.Lock()
	defer mu.Unlock()
	return *r
}
