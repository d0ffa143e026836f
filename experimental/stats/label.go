// SPDX-License-Identifier: Apache-2.0

package stats

import "context"

type customLabelKey struct{}

// NewContextWithCustomLabel returns a context whose RPCs carry label as the value of
// grpc.client.call.custom, a label that a stats plugin may put on its metrics. Keep the
// number of different values small.
func NewContextWithCustomLabel(ctx context.Context, label string) context.Context {
	return context.WithValue(ctx, customLabelKey{}, label)
}

// CustomLabelFromContext returns the label of the context, or "" if it has none.
func CustomLabelFromContext(ctx context.Context) string {
	label, _ := ctx.Value(customLabelKey{}).(string)
	return label
}
