// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channel"
)

var (
	// ErrClientConnClosing is the error of RPCs of a ClientConn that is closed.
	//
	// Deprecated: this error should not be relied upon by users; use the status
	// code Canceled.
	ErrClientConnClosing = channel.ErrClosing

	// ErrClientConnTimeout was once the error of a Dial that took too long.
	//
	// Deprecated: nothing returns it.
	ErrClientConnTimeout = errors.New("grpc: timed out when dialing")
)

// ClientConnInterface is what generated clients need. [ClientConn] is one.
type ClientConnInterface interface {
	// Invoke performs a unary RPC and returns when it is over.
	Invoke(ctx context.Context, method string, args any, reply any, opts ...CallOption) error
	// NewStream begins a streaming RPC.
	NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error)
}

// withDefaults puts the channel's options in front.
func (cc *ClientConn) withDefaults(opts []CallOption) []CallOption {
	defaults := cc.opts.callOptions
	switch {
	case len(defaults) == 0:
		return opts
	case len(opts) == 0:
		return defaults[:len(defaults):len(defaults)]
	}
	return append(defaults[:len(defaults):len(defaults)], opts...)
}

// Target returns the target as it was given.
func (cc *ClientConn) Target() string { return cc.channel.Name }

// CanonicalTarget returns the target in full, "scheme://authority/endpoint".
func (cc *ClientConn) CanonicalTarget() string { return cc.channel.CanonicalTarget() }

// GetState returns the channel's connectivity state. It does not make an idle channel
// connect.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) GetState() connectivity.State { return cc.channel.State() }

// WaitForStateChange waits until the state is another than sourceState and returns
// true, or false if ctx ends first.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) WaitForStateChange(ctx context.Context, sourceState connectivity.State) bool {
	return cc.channel.WaitForStateChange(ctx, sourceState)
}

// Connect makes an idle channel connect, without waiting for it. It has no effect on any other.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) Connect() { cc.channel.Connect() }

// ResetConnectBackoff makes every subchannel that waits after a failure try again at
// once, and the pauses begin anew. It is for when the network is known to be back.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) ResetConnectBackoff() { cc.channel.ResetConnectBackoff() }

// Close ends the channel at once: RPCs that are open fail with codes.Canceled, as do
// later ones. It returns once the balancer has been closed, so a balancer must not
// call it. It fails if the channel is closed already.
func (cc *ClientConn) Close() error {
	if !cc.channel.Close() {
		return ErrClientConnClosing
	}
	cc.streams.cancelAll(ErrClientConnClosing)
	if cc.unwatch != nil {
		cc.unwatch()
	}
	cc.channel.Node().Close()
	return nil
}

// cancelAll ends all streams with err, and lets no other begin.
func (l *streamList) cancelAll(err error) {
	l.mu.Lock()
	l.closed = true
	var all []*clientStream
	for n := l.first; n != nil; n = n.next {
		all = append(all, n)
	}
	l.mu.Unlock()
	for _, n := range all {
		n.abort(err)
	}
}
