// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"context"

	"go.opentelemetry.io/contrib/detectors/gcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/envconfig"
)

var logger = grpclog.Component("csm")

// unknown stands for a value that is not known.
const unknown = "unknown"

// The platforms with values of their own.
const (
	kubernetes = "gcp_kubernetes_engine"
	compute    = "gcp_compute_engine"
)

// workload identifies an end: it has the values of its metadata by their names, and its mesh.
type workload struct {
	values map[string]string
	mesh   string
}

// findWorkload returns this process's workload, by the environment and the metadata server.
func findWorkload(ctx context.Context) workload {
	found, err := resource.New(ctx, resource.WithDetectors(gcp.NewDetector()), resource.WithFromEnv())
	if err != nil && logger.V(2) {
		logger.Infof("csm: the environment does not say all there is to say of this workload: %v", err)
	}
	var attrs *attribute.Set
	if found != nil {
		attrs = found.Set()
	}
	return newWorkload(attrs, envconfig.ReadCSM())
}

func newWorkload(attrs *attribute.Set, env envconfig.CSM) workload {
	find := func(keys ...attribute.Key) string {
		for _, key := range keys {
			if v, ok := attrs.Value(key); ok && v.Type() == attribute.STRING && v.AsString() != "" {
				return v.AsString()
			}
		}
		return unknown
	}
	w := workload{mesh: orUnknown(env.MeshID), values: map[string]string{
		"type":              find("cloud.platform"),
		"canonical_service": orUnknown(env.CanonicalService),
	}}
	switch w.values["type"] {
	case kubernetes:
		w.values["namespace_name"] = find("k8s.namespace.name")
		w.values["cluster_name"] = find("k8s.cluster.name")
		fallthrough
	case compute:
		w.values["workload_name"] = orUnknown(env.WorkloadName)
		w.values["location"] = find("cloud.availability_zone", "cloud.region")
		w.values["project_id"] = find("cloud.account.id")
	}
	return w
}

func orUnknown(s string) string {
	if s == "" {
		return unknown
	}
	return s
}
