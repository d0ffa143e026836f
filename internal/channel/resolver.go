// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"time"

	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// start builds the resolver, which may call r's methods before start returns.
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
	built = r.refreshed(built)
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

// close closes the resolver. It may be called while start builds the resolver: start then closes
// what it built.
func (r *resolverWrapper) close() {
	defer r.calls.Close()
	r.mu.Lock()
	closing := r.resolver
	if r.closed {
		closing = nil
	}
	r.closed = true
	if r.delayed != nil {
		r.delayed.Stop()
	}
	r.mu.Unlock()
	if closing != nil {
		r.calls.Do(closing.Close) // behind a ResolveNow that is under way, so that none is called after it
	}
}

// resolveNow asks the resolver to resolve again, now or as soon as its pace allows.
func (r *resolverWrapper) resolveNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = r.resolver == nil
	if _, never := r.resolver.(static.Resolver); r.resolver == nil || never || r.closed {
		return
	}
	switch wait, due := r.pace.request(time.Now()); {
	case !due:
	case wait == 0:
		r.calls.Go(r.ask)
	default:
		r.delayed = time.AfterFunc(wait, func() { r.calls.Do(r.ask) })
	}
}

// ask asks the resolver to resolve again. The queue r.calls runs it, so calls do not overlap.
func (r *resolverWrapper) ask() {
	r.mu.Lock()
	r.pace.made()
	r.delayed = nil
	to := r.resolver
	if r.closed {
		to = nil
	}
	r.mu.Unlock()
	if to != nil {
		to.ResolveNow(resolver.ResolveNowOptions{})
	}
}

// resolveNow asks the resolver, if there is one, to resolve again.
func (ch *Channel) resolveNow() {
	ch.mu.Lock()
	r := ch.resolver
	ch.mu.Unlock()
	if r != nil {
		r.resolveNow()
	}
}
