// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"maps"
)

// LabelCallback is told labels of telemetry, by their names, that a balancer gives to an
// attempt, such as grpc.lb.locality. The map is its own.
type LabelCallback func(map[string]string)

// LabelsKey finds the LabelReceiver of an attempt in its context. A context may answer to
// it with a value of its own.
type LabelsKey struct{}

// LabelReceiver is what a context has under LabelsKey.
type LabelReceiver interface {
	// UpdateLabels is told labels; it must neither keep nor change the map.
	UpdateLabels(labels map[string]string)
}

// WithLabelCallback returns a context with which callback is told the labels of an
// attempt, after those that ctx has got already.
func WithLabelCallback(ctx context.Context, callback LabelCallback) context.Context {
	outer, _ := ctx.Value(LabelsKey{}).(LabelReceiver)
	return context.WithValue(ctx, LabelsKey{}, LabelReceiver(&receiver{outer, callback}))
}

type receiver struct {
	outer    LabelReceiver // nil for none
	callback LabelCallback
}

// UpdateLabels implements LabelReceiver.
func (r *receiver) UpdateLabels(labels map[string]string) {
	if r.outer != nil {
		r.outer.UpdateLabels(labels)
	}
	r.callback(maps.Clone(labels))
}

// UpdateLabels tells those who listen in ctx, the context of a pick, labels of the
// attempt that the pick is for. Nobody keeps or changes the map.
func UpdateLabels(ctx context.Context, labels map[string]string) {
	if r, ok := ctx.Value(LabelsKey{}).(LabelReceiver); ok {
		r.UpdateLabels(labels)
	}
}
