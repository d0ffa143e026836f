// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// start builds the resolver, which may call the methods below meanwhile.
func (r *resolverWrapper) start() error {
	ch := r.ch
	built, err := ch.builder.Build(ch.Parsed(), r, resolver.BuildOptions{
		DisableServiceConfig: ch.opts.NoServiceConfig,
		DialCreds:            ch.opts.Creds,
		CredsBundle:          ch.opts.Bundle,
		Dialer:               ch.opts.Dialer,
		Authority:            ch.authority,
		MetricsRecorder:      ch.opts.Recorders,
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	closed, wanted := r.closed, r.wanted
	r.resolver = built
	r.mu.Unlock()
	switch {
	case closed:
		built.Close()
	case wanted:
		r.resolveNow()
	}
	return nil
}

// close may be called while start is building: start then closes what it built.
func (r *resolverWrapper) close() {
	r.calls.Close()
	r.mu.Lock()
	closing := r.resolver
	if r.closed {
		closing = nil
	}
	r.closed = true
	r.mu.Unlock()
	if closing != nil {
		closing.Close()
	}
}

func (r *resolverWrapper) resolveNow() {
	r.mu.Lock()
	to := r.resolver
	r.wanted = to == nil
	if r.closed {
		to = nil
	}
	r.mu.Unlock()
	if _, never := to.(static.Resolver); to == nil || never {
		return
	}
	r.calls.Go(func() { to.ResolveNow(resolver.ResolveNowOptions{}) })
}

// resolveNow asks the resolver, if there is one, to look again.
func (ch *Channel) resolveNow() {
	ch.mu.Lock()
	r := ch.resolver
	ch.mu.Unlock()
	if r != nil {
		r.resolveNow()
	}
}
