// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// wrapperURL is the type of a message that wraps a resource.
const wrapperURL = "type.googleapis.com/envoy.service.discovery.v3.Resource"

// receive reads a response, and waits until watchers have been called.
func (s *server) receive(ctx context.Context, stream Stream) error {
	var resp discoveryv3.DiscoveryResponse
	if err := stream.Recv(&resp); err != nil {
		return err
	}
	r := &response{server: s, url: resp.GetTypeUrl(), version: resp.GetVersionInfo(), nonce: resp.GetNonce(), errors: resp.GetResourceErrors()}
	if !r.begin(stream) {
		return nil
	}
	for i, a := range resp.GetResources() {
		r.add(i, a)
	}
	r.finish(stream)
	s.client.drained(ctx)
	return nil
}

// response is a response that is being processed.
type response struct {
	server       *server
	kind         kind
	url          string
	version      string
	nonce        string
	errors       []*discoveryv3.ResourceError
	sub          *subscription // what is requested
	items        []item
	problems     []error // what is wrong with which resource
	valid, wrong int
}

// item is one resource of a response.
type item struct {
	name  string
	raw   []byte
	value any
	err   error
}

// begin looks up the subscription. It returns false if the response must be ignored.
func (r *response) begin(stream Stream) bool {
	c := r.server.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.server.stream != stream {
		return false
	}
	r.server.backLocked()
	sub := r.server.subs[r.url]
	if sub == nil {
		c.warnf("%v sends type %.200q, which nobody has asked for", r.server.config, r.url)
		return false
	}
	r.kind, r.sub, sub.reading, sub.fresh = sub.kind, sub, true, nil
	return true
}

// watched reports whether the resource has been watched since before processing of the response began. raw and
// value are the version in use, if the same bytes from this server have the same value. watched looks up one name
// at a time, so that the cost depends on what the control plane sends, and not on how many resources are watched.
func (r *response) watched(name string) (raw []byte, value any, ok bool) {
	c := r.server.client
	c.mu.Lock()
	defer c.mu.Unlock()
	e := r.sub.entries[name]
	if _, fresh := r.sub.fresh[name]; e == nil || fresh {
		return nil, nil, false
	}
	if e.value != nil && e.agrees(r.server) {
		raw, value = e.raw, e.value
	}
	return raw, value, true
}

// add decodes a resource if it is watched. It ignores the content of all others.
func (r *response) add(index int, a *anypb.Any) {
	it, err := r.read(a)
	if err != nil {
		r.wrong++
		r.problems = append(r.problems, fmt.Errorf("resource %d: %w", index, err))
		return
	}
	raw, value, watched := r.watched(it.name)
	if !watched {
		return
	}
	if raw != nil && bytes.Equal(raw, it.raw) {
		it.value = value
	} else if it.value, it.err = r.kind.decode(r.server.config, it.raw); it.err != nil {
		it.err = fmt.Errorf("%s %q is not valid: %w", r.kind.name(), it.name, it.err)
		r.wrong++
		r.problems = append(r.problems, it.err)
		r.items = append(r.items, it)
		return
	}
	r.valid++
	r.items = append(r.items, it)
}

// read unwraps a resource and determines its name.
func (r *response) read(a *anypb.Any) (it item, err error) {
	if a.GetTypeUrl() == wrapperURL {
		var w discoveryv3.Resource
		if err := proto.Unmarshal(a.GetValue(), &w); err != nil {
			return it, fmt.Errorf("wrapper: %w", err)
		}
		a, it.name = w.GetResource(), w.GetName()
		if a == nil {
			return it, errors.New("a wrapper without a resource")
		}
	}
	if a.GetTypeUrl() != r.url {
		return it, fmt.Errorf("is of type %q; the response is of %q", a.GetTypeUrl(), r.url)
	}
	it.raw = a.GetValue()
	if it.name == "" {
		if it.name, err = resourceName(it.raw); err != nil {
			return it, err
		}
	}
	_, it.name, err = parseName(it.name)
	return it, err
}

// finish updates the entries, and makes the client acknowledge or refuse the response.
func (r *response) finish(stream Stream) {
	s, c := r.server, r.server.client
	if c.config.Metrics != nil {
		c.config.Metrics.Updates(s.config.URI, r.url, r.valid, r.wrong)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sub := s.subs[r.url]
	if s.stream != stream || sub == nil {
		return
	}
	seen := make(map[string]bool, len(r.items))
	answered := make(map[user]bool)
	for i := range r.items {
		seen[r.items[i].name] = true
		if e := sub.entries[r.items[i].name]; e != nil {
			r.apply(e, &r.items[i])
			answered[e.user] = answered[e.user] || r.items[i].err == nil
		}
	}
	r.applyErrors(sub, seen)
	for u, ok := range answered {
		if ok {
			u.answeredLocked(s)
		}
	}
	if r.kind.whole() {
		for name, e := range sub.entries {
			if _, ok := e.cached(); ok && !seen[name] && r.deletes(e) {
				e.deleted(s)
			}
		}
	}
	sub.reading, sub.fresh, sub.owed = false, nil, true
	sub.nonce, sub.nack, sub.dirty = r.nonce, summary(r.problems), true
	switch {
	case sub.nack == nil:
		sub.version, sub.refused = r.version, nil
	case sub.refused != nil && *sub.refused == r.version:
		s.answerLater(sub, refusalPause)
		return
	default:
		sub.refused = &r.version
		c.warnf("%v: version %q of %s is refused: %v", s.config, r.version, r.kind.name(), sub.nack)
	}
	if pause := sub.pace.next(time.Now()); pause > 0 {
		s.answerLater(sub, pause)
		return
	}
	s.kickLocked()
}

// deletes reports whether the response deletes a resource that it does not have. A value from another server
// stays while that server is in use. After that, nobody but the servers that are in use can say that the
// resource is gone.
func (r *response) deletes(e *entry) bool {
	if _, fresh := r.sub.fresh[e.name]; fresh {
		return false
	}
	return e.from == r.server || !e.user.usesLocked(e.from)
}

// refusalPause is the time between two refusals of the same version. Some control planes answer each refusal
// at once with the same version.
const refusalPause = time.Second

// maxAnswers is how many responses of one type the client answers without delay in a second. Some control
// planes answer each answer with another version.
const maxAnswers = 50

// next returns how long to delay the answer to a response.
func (p *answerPace) next(now time.Time) time.Duration {
	if now.Sub(p.since) >= time.Second {
		p.since, p.answers = now, 0
	}
	if p.answers++; p.answers <= maxAnswers {
		return 0
	}
	return p.since.Add(time.Second).Sub(now)
}

// answerLater makes the client answer the last response of the type after a pause. That may be a later
// response than the one that caused the pause.
func (s *server) answerLater(sub *subscription, pause time.Duration) {
	sub.dirty = false
	if sub.pace.waits {
		return
	}
	sub.pace.waits = true
	time.AfterFunc(pause, func() {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		sub.pace.waits = false
		if s.stream != nil && sub.owed {
			sub.dirty = true
			s.kickLocked()
		}
	})
}

func (r *response) apply(e *entry, it *item) {
	switch {
	case it.err != nil:
		e.invalid(NACKed, it.err, r.version, r.server)
	case e.value != nil && e.agrees(r.server) && bytes.Equal(e.raw, it.raw):
		e.confirm(r.version, r.server)
	default:
		e.set(it.value, it.raw, r.version, r.server)
	}
}

// applyErrors takes over the errors that the control plane sent instead of resources (A88).
func (r *response) applyErrors(sub *subscription, seen map[string]bool) {
	if !r.server.client.config.DataErrors {
		return
	}
	for _, in := range r.errors {
		_, name, err := parseName(in.GetResourceName().GetName())
		e := sub.entries[name]
		if err != nil || e == nil || seen[name] {
			continue
		}
		seen[name] = true
		reported := &ServerError{Code: codes.Code(in.GetErrorDetail().GetCode()), Message: in.GetErrorDetail().GetMessage()}
		e.stopTimer()
		e.state, e.errVersion = ReceivedError, r.version
		e.err = fmt.Errorf("%s %q: %w", e.kind.name(), e.name, reported)
		e.errTime = time.Now()
		e.fail(e.err, reported.ofData() && r.server.config.Features.FailOnDataErrors)
	}
}

// maxProblems and maxDetail limit the text of a refusal.
const (
	maxProblems = 20
	maxDetail   = 8 << 10
)

// summary combines errors into one. It returns nil if there are none.
func summary(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	var b strings.Builder
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "; and %d more", len(problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.Error())
	}
	return errors.New(strings.ToValidUTF8(b.String()[:min(b.Len(), maxDetail)], ""))
}

// backLocked records that the server has sent a response, and tells the authorities if it had failed before.
func (s *server) backLocked() {
	s.worked = true
	if s.failure == nil {
		return
	}
	s.failure = nil
	for u := range s.users {
		u.backLocked()
	}
}

// drained waits until watchers have been told everything that is queued now, or until ctx ends.
func (c *Client) drained(ctx context.Context) {
	done := make(chan struct{})
	if !c.callbacks.Go(func() { close(done) }) {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
