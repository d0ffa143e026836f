// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"maps"
)

// LabelCallback is called with the telemetry labels, such as grpc.lb.locality, that a balancer
// sets for an attempt. The map has the labels by name; the callback owns it.
type LabelCallback func(map[string]string)

// LabelsKey is the key of the LabelReceiver in an attempt's context. A type that implements
// context.Context may return itself for this key.
type LabelsKey struct{}

// LabelReceiver is the type of the value that a context has under LabelsKey.
type LabelReceiver interface {
	// UpdateLabels receives labels. It must neither keep nor change the map.
	UpdateLabels(labels map[string]string)
}

// WithLabelCallback returns a context that passes an attempt's labels to callback, after it
// has passed them to the LabelReceiver that ctx may already have.
func WithLabelCallback(ctx context.Context, callback LabelCallback) context.Context {
	outer, _ := ctx.Value(LabelsKey{}).(LabelReceiver)
	return context.WithValue(ctx, LabelsKey{}, LabelReceiver(&receiver{outer, callback}))
}

type receiver struct {
	outer    LabelReceiver // may be nil
	callback LabelCallback
}

// UpdateLabels implements LabelReceiver.
func (r *receiver) UpdateLabels(labels map[string]string) {
	if r.outer != nil {
		r.outer.UpdateLabels(labels)
	}
	r.callback(maps.Clone(labels))
}

// UpdateLabels passes labels to the LabelReceiver in ctx, if there is one. ctx is the context
// of a pick, and the labels are those of the attempt that the pick is for. The receiver
// neither keeps nor changes the map.
func UpdateLabels(ctx context.Context, labels map[string]string) {
	if r, ok := ctx.Value(LabelsKey{}).(LabelReceiver); ok {
		r.UpdateLabels(labels)
	}
}
