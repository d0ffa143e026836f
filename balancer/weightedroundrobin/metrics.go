// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/resolver"
)

// These are the metrics of gRFC A78, with the label of gRFC A89. Each is recorded when the weights
// are updated.
var (
	fallbacks = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.wrr.rr_fallback",
		Description:    "EXPERIMENTAL. Updates of the weights after which too few endpoints have one, so that all get the same.",
		Unit:           "{update}",
		Labels:         labels,
		OptionalLabels: optionalLabels,
	})
	notYetUsable = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.wrr.endpoint_weight_not_yet_usable",
		Description:    "EXPERIMENTAL. Endpoints in updates of the weights that have not reported, or not for long enough.",
		Unit:           "{endpoint}",
		Labels:         labels,
		OptionalLabels: optionalLabels,
	})
	stale = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.wrr.endpoint_weight_stale",
		Description:    "EXPERIMENTAL. Endpoints in updates of the weights that have not reported for too long.",
		Unit:           "{endpoint}",
		Labels:         labels,
		OptionalLabels: optionalLabels,
	})
	weights = estats.RegisterFloat64Histo(estats.MetricDescriptor{
		Name:           "grpc.lb.wrr.endpoint_weights",
		Description:    "EXPERIMENTAL. The weights of endpoints in updates of the weights, 0 for those that have none.",
		Unit:           "{endpoint}",
		Labels:         labels,
		OptionalLabels: optionalLabels,
	})
)

var (
	labels         = []string{"grpc.target"}
	optionalLabels = []string{"grpc.lb.locality", "grpc.lb.backend_service"}
)

type backendServiceKey struct{}

// SetBackendService returns state with the name of a backend service, with which the policy labels
// its metrics (gRFC A89).
func SetBackendService(state resolver.State, backendService string) resolver.State {
	state.Attributes = state.Attributes.WithValue(backendServiceKey{}, backendService)
	return state
}

func backendService(state resolver.State) string {
	name, _ := state.Attributes.Value(backendServiceKey{}).(string)
	return name
}

// meter records metrics with the labels of one balancer.
type meter struct {
	recorder estats.MetricsRecorder
	labels   []string               // target, locality, backend service
	queue    *serializer.Serializer // the balancer's, which keeps updates in order
}

// update records an update of the weights. The caller holds no lock: recorders are the program's.
func (m meter) update(r readings) { m.queue.Do(func() { m.record(r) }) }

// updateLater records an update for a caller that may hold locks.
func (m meter) updateLater(r readings) { m.queue.Go(func() { m.record(r) }) }

func (m meter) record(r readings) {
	for _, w := range r.weights {
		weights.Record(m.recorder, w, m.labels...)
	}
	notYetUsable.Record(m.recorder, int64(r.early), m.labels...)
	stale.Record(m.recorder, int64(r.late), m.labels...)
	if r.usable() < 2 {
		fallbacks.Record(m.recorder, 1, m.labels...)
	}
}
