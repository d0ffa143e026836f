// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"encoding/base64"
	"net/url"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats/opentelemetry/internal/plugin"
)

const (
	metadataKey = "x-envoy-peer-metadata"

	// trafficDirector is the authority in the targets of the mesh.
	trafficDirector = "traffic-director-global.xds.googleapis.com"
)

// exchange is the plugin.Exchange of a mesh. Each end sends a google.protobuf.Struct of
// strings, in base64.
type exchange struct {
	metadata []string
	own      []plugin.Label
}

func newExchange(w workload) *exchange {
	s := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, value := range w.values {
		s.Fields[name] = structpb.NewStringValue(value)
	}
	x := &exchange{own: []plugin.Label{
		{Name: "csm.workload_canonical_service", Value: w.values["canonical_service"]},
		{Name: "csm.mesh_id", Value: w.mesh},
	}}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil { // the environment is not UTF-8
		logger.Errorf("csm: this workload can't tell who it is: %v", err)
		return x
	}
	x.metadata = []string{metadataKey, base64.RawStdEncoding.EncodeToString(raw)}
	return x
}

// Metadata implements plugin.Exchange.
func (x *exchange) Metadata() []string { return x.metadata }

// Wants implements plugin.Exchange.
func (x *exchange) Wants(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "xds" && (u.Host == "" || u.Host == trafficDirector)
}

// Key implements plugin.Exchange. It returns "" if the value is longer than maxTold.
func (x *exchange) Key(md metadata.MD) string {
	if values := md[metadataKey]; len(values) > 0 && len(values[0]) <= maxTold {
		return values[0]
	}
	return ""
}

// remote has the labels of the other end that depend on its platform, each with the name of
// the value that it is set to.
var remote = map[string][]struct{ label, value string }{
	kubernetes: {
		{"csm.remote_workload_name", "workload_name"},
		{"csm.remote_workload_project_id", "project_id"},
		{"csm.remote_workload_location", "location"},
		{"csm.remote_workload_cluster_name", "cluster_name"},
		{"csm.remote_workload_namespace_name", "namespace_name"},
	},
	compute: {
		{"csm.remote_workload_name", "workload_name"},
		{"csm.remote_workload_project_id", "project_id"},
		{"csm.remote_workload_location", "location"},
	},
}

// Labels implements plugin.Exchange. All values of the other end are unknown if it has sent
// none, or none that can be parsed.
func (x *exchange) Labels(key string) []plugin.Label {
	told := parseTold(key)
	value := func(name string) string { return orUnknown(told[name]) }
	labels := append([]plugin.Label(nil), x.own...)
	labels = append(labels,
		plugin.Label{Name: "csm.remote_workload_type", Value: value("type")},
		plugin.Label{Name: "csm.remote_workload_canonical_service", Value: value("canonical_service")})
	for _, r := range remote[value("type")] {
		labels = append(labels, plugin.Label{Name: r.label, Value: value(r.value)})
	}
	return labels
}
