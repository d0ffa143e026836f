// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/status"
)

// call is a client's RPC. It is also the RPC's context, and contains the first attempt, which is
// the only one of most RPCs. The three need only one allocation.
type call struct {
	context.Context
	channel *channel
	points  *points
	custom  string     // the label of gRFC A108
	span    trace.Span // nil if the RPC is not traced
	began   time.Time
	ended   atomic.Bool

	first attempt
	used  atomic.Bool // says that first is in use

	retries retries
}

// retries counts an RPC's attempts, for the metrics of gRFC A96.
type retries struct {
	mu        sync.Mutex
	active    int
	idleSince time.Time // when the number of active attempts last became 0; zero before that
	retryCounts
}

// retryCounts is what is recorded of retries.
type retryCounts struct {
	count       int
	transparent int
	hedges      int
	delay       time.Duration
}

// Value implements context.Context.
func (c *call) Value(key any) any {
	if k, ok := key.(callKey); ok && k.c == c.channel {
		return c
	}
	return c.Context.Value(key)
}

// String keeps fmt from formatting the parents by reflection, which would read fields that
// their locks guard.
func (c *call) String() string { return "context of a measured RPC" }

func (c *call) begin() { c.began = time.Now() }

// End implements telemetry.Call.
func (c *call) End(err error) {
	if c.ended.Swap(true) {
		return
	}
	i := &c.channel.instruments
	if i.call != nil {
		d := time.Since(c.began).Seconds()
		i.call.Record(c.Context, d, c.points.find(pointKey{kind: ofCall, status: status.Code(err), custom: c.custom}).record...)
	}
	if i.countsRetries() {
		c.recordRetries(i)
	}
	if c.span != nil {
		endSpan(c.span, err)
	}
}

func (c *call) recordRetries(i *clientInstruments) {
	r := c.retries.counts()
	at := c.points.find(pointKey{kind: ofRetries, custom: c.custom}).record
	if r.count > 0 && i.retries != nil {
		i.retries.Record(c.Context, int64(r.count), at...)
	}
	if r.transparent > 0 && i.transparent != nil {
		i.transparent.Record(c.Context, int64(r.transparent), at...)
	}
	if r.hedges > 0 && i.hedges != nil {
		i.hedges.Record(c.Context, int64(r.hedges), at...)
	}
	if r.delay > 0 && i.retryDelay != nil {
		i.retryDelay.Record(c.Context, r.delay.Seconds(), at...)
	}
}

func (r *retries) counts() retryCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retryCounts
}

// attemptBegins counts an attempt that begins.
func (r *retries) attemptBegins(info *telemetry.AttemptInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case info.Transparent:
		r.transparent++
	case info.Hedge:
		r.hedges++
	case info.Previous > 0:
		r.count++
	}
	if r.active == 0 && !r.idleSince.IsZero() {
		r.delay += time.Since(r.idleSince)
	}
	r.active++
}

func (r *retries) attemptEnds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active--; r.active == 0 {
		r.idleSince = time.Now()
	}
}

// attempt is one attempt of a call. If it needs labels from balancers, it is also the attempt's
// context.
type attempt struct {
	context.Context
	call  *call
	began time.Time
	traffic

	mu        sync.Mutex
	place     string
	backend   string
	service   string // service and namespace come from a control plane
	namespace string
}

func (c *call) newAttempt(info *telemetry.AttemptInfo) *attempt {
	a := &c.first
	if c.used.Swap(true) {
		a = &attempt{}
	}
	a.call = c
	if c.channel.instruments.countsRetries() {
		c.retries.attemptBegins(info)
	}
	return a
}

func (a *attempt) begin() {
	a.began = time.Now()
	if i := a.call.channel.instruments.started; i != nil {
		i.Add(a.Context, 1, a.call.points.find(pointKey{kind: ofBegin, custom: a.call.custom}).add...)
	}
}

// Value implements context.Context.
func (a *attempt) Value(key any) any {
	if key == (stats.LabelsKey{}) {
		return stats.LabelReceiver(a)
	}
	return a.Context.Value(key)
}

// String keeps fmt from formatting the parents by reflection.
func (a *attempt) String() string { return "context of a measured attempt" }

// UpdateLabels implements stats.LabelReceiver.
func (a *attempt) UpdateLabels(labels map[string]string) {
	stats.UpdateLabels(a.Context, labels) // the program's own callbacks
	a.mu.Lock()
	defer a.mu.Unlock()
	if place, ok := labels[labelPlace]; ok && a.call.channel.on.place {
		a.place = place
	}
	if backend, ok := labels[labelBackend]; ok && a.call.channel.on.backend {
		a.backend = backend
	}
	if service, ok := labels[labelService]; ok && a.call.channel.on.mesh.service {
		a.service = service
	}
	if namespace, ok := labels[labelNamespace]; ok && a.call.channel.on.mesh.namespace {
		a.namespace = namespace
	}
}

// Picked implements telemetry.Attempt.
func (a *attempt) Picked() {
	if a.span != nil {
		a.span.AddEvent("Delayed LB pick complete")
	}
}

// End implements telemetry.Attempt.
func (a *attempt) End(err error, response telemetry.Response) {
	c := a.call
	i := &c.channel.instruments
	if i.countsRetries() {
		c.retries.attemptEnds()
	}
	if i.duration != nil || i.sent != nil || i.received != nil {
		a.measure(err, response)
	}
	if a.span != nil {
		endSpan(a.span, err)
	}
}

func (a *attempt) measure(err error, response telemetry.Response) {
	c := a.call
	i := &c.channel.instruments
	d := time.Since(a.began).Seconds()
	k := pointKey{kind: ofEnd, status: status.Code(err), custom: c.custom}
	if c.channel.on != (optional{}) {
		a.mu.Lock()
		k.place, k.backend = a.place, a.backend
		k.service, k.inside = a.service, a.namespace
		a.mu.Unlock()
	}
	if c.channel.exchange != nil {
		k.otherEnd = otherEnd(c.channel.exchange, response)
	}
	at := c.points.find(k).record
	if i.duration != nil {
		i.duration.Record(a.Context, d, at...)
	}
	if i.sent != nil {
		i.sent.Record(a.Context, a.sent.bytes.Load(), at...)
	}
	if i.received != nil {
		i.received.Record(a.Context, a.received.bytes.Load(), at...)
	}
}

// otherEnd returns the Exchange's key of a server. It is in the response headers, or in the
// trailers if there were no headers; servers behind net/http send empty headers then.
func otherEnd(x Exchange, response telemetry.Response) string {
	if response == nil {
		return ""
	}
	if response.GotHeaders() {
		if key := x.Key(response.Header()); key != "" {
			return key
		}
	}
	return x.Key(response.Trailer())
}
