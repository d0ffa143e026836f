// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	estats "google.golang.org/grpc/experimental/stats"
)

// Channels are the values that a channel's plugins have for it, in the order of the plugins.
type Channels []Channel

// BeginAttempt calls BeginAttempt of each of them. The Attempt is nil if all of theirs are.
func (cs Channels) BeginAttempt(ctx context.Context, info AttemptInfo) (context.Context, Attempt) {
	if len(cs) == 1 {
		return cs[0].BeginAttempt(ctx, info)
	}
	var all attempts
	for _, c := range cs {
		next, a := c.BeginAttempt(ctx, info)
		if ctx = next; a != nil {
			all = append(all, a)
		}
	}
	switch len(all) {
	case 0:
		return ctx, nil
	case 1:
		return ctx, all[0]
	}
	return ctx, all
}

// Recorders returns the plugins' recorders that are not nil.
func (cs Channels) Recorders() []estats.MetricsRecorder { return recorders(cs) }

// Servers are the plugins of a server, in their order.
type Servers []Server

// BeginServed calls BeginServed of each of them. There must be at least one.
func (ss Servers) BeginServed(ctx context.Context, info ServedInfo) (context.Context, Served) {
	if len(ss) == 1 {
		return ss[0].BeginServed(ctx, info)
	}
	all := make(served, len(ss))
	for i, s := range ss {
		ctx, all[i] = s.BeginServed(ctx, info)
	}
	return ctx, all
}

// Recorders returns the plugins' recorders that are not nil.
func (ss Servers) Recorders() []estats.MetricsRecorder { return recorders(ss) }

func recorders[P interface{ Recorder() estats.MetricsRecorder }](plugins []P) []estats.MetricsRecorder {
	var list []estats.MetricsRecorder
	for _, p := range plugins {
		if r := p.Recorder(); r != nil {
			list = append(list, r)
		}
	}
	return list
}

// attempts passes what happens to one attempt on to several plugins.
type attempts []Attempt

func (as attempts) Picked() {
	for _, a := range as {
		a.Picked()
	}
}

func (as attempts) Sent(m Message) {
	for _, a := range as {
		a.Sent(m)
	}
}

func (as attempts) Received(m Message) {
	for _, a := range as {
		a.Received(m)
	}
}

func (as attempts) End(err error, response Response) {
	for _, a := range as {
		a.End(err, response)
	}
}

// served passes what happens to one served RPC on to several plugins.
type served []Served

func (ss served) Metadata() []string {
	var all []string
	for _, s := range ss {
		all = append(all, s.Metadata()...)
	}
	return all
}

func (ss served) Sent(m Message) {
	for _, s := range ss {
		s.Sent(m)
	}
}

func (ss served) Received(m Message) {
	for _, s := range ss {
		s.Received(m)
	}
}

func (ss served) End(err error) {
	for _, s := range ss {
		s.End(err)
	}
}
