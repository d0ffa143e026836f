// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// dialCreds returns the credentials that a policy or a resolver dials with; nil if it has a bundle for that.
func (ch *Channel) dialCreds() credentials.TransportCredentials {
	if ch.opts.Bundle != nil {
		return nil
	}
	return ch.opts.Creds
}

// start builds the resolver, which may call r's methods before start returns.
func (r *resolverWrapper) start() error {
	ch := r.ch
	built, err := ch.builder.Build(ch.Parsed(), r, resolver.BuildOptions{
		DisableServiceConfig: ch.opts.NoServiceConfig,
		DialCreds:            ch.dialCreds(),
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
//
// Many resolvers can't be asked while they are closed, or after. So close waits for a ResolveNow that is under way, but
// only for a while: it may itself wait for the Close, or be what calls close. Where the caller may not wait, close does
// so on another goroutine, and the channel that close returns is closed when that is done. It is nil otherwise.
func (r *resolverWrapper) close(wait bool) <-chan struct{} {
	r.calls.Close()
	r.mu.Lock()
	closing, asking := r.resolver, r.asking
	if r.closed {
		closing = nil
	}
	r.closed = true
	if r.delayed != nil {
		r.delayed.Stop()
	}
	r.mu.Unlock()
	switch {
	case closing == nil:
	case asking == nil:
		closing.Close()
	case wait:
		await(asking, closePatience)
		closing.Close()
	default:
		done := make(chan struct{})
		go func() {
			defer close(done)
			await(asking, closePatience)
			closing.Close()
		}()
		return done
	}
	return nil
}

// closePatience is how long is waited for what comes before a Close, or for the Close before a Build.
const closePatience = time.Second

// await waits until done is closed, for d at most.
func await(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
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
	if r.closed || to == nil {
		r.mu.Unlock()
		return
	}
	asking := make(chan struct{})
	r.asking = asking
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.asking = nil
		r.mu.Unlock()
		close(asking)
	}()
	to.ResolveNow(resolver.ResolveNowOptions{})
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
