// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// xdsAsks are histories of a route: each step is the one cluster that the route names, or an aggregate
// followed by the clusters that it consists of.
var xdsAsks = []struct {
	name  string
	steps [][]string
}{
	{"one cluster, then another", [][]string{{"a"}, {"b"}, {"a"}}},
	{"an aggregate that loses a cluster", [][]string{{"all", "a", "b"}, {"all", "a"}}},
	{"an aggregate that gets a cluster", [][]string{{"all", "a"}, {"all", "a", "b"}}},
	{"an aggregate whose clusters change", [][]string{{"all", "a"}, {"all", "b"}, {"all", "a"}}},
	{"an aggregate whose clusters turn round", [][]string{{"all", "a", "b"}, {"all", "b", "a"}}},
	{"an aggregate that becomes a cluster", [][]string{{"all", "a", "b"}, {"b"}}},
	{"an aggregate with a cluster that is not there", [][]string{{"all", "a", "b"}, {"all", "b", "none"}, {"all", "b"}}},
}

// xdsAskProbes print which clusters and endpoints a client wants once the control plane has changed.
func xdsAskProbes() []probe.Probe {
	var out []probe.Probe
	for _, asks := range xdsAsks {
		out = append(out, probe.Probe{Name: "client/asks/" + asks.name, Limit: 30 * time.Second, Run: func(p *probe.P) {
			s := newXDSState(p)
			leaves := s.clusters
			var control *plane.Plane
			for _, step := range asks.steps {
				s.clusters = append([]*clusterv3.Cluster(nil), leaves...)
				if len(step) > 1 {
					s.clusters = append(s.clusters, &clusterv3.Cluster{Name: step[0], ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{
						ClusterType: &clusterv3.Cluster_CustomClusterType{
							Name: "envoy.clusters.aggregate", TypedConfig: plane.Any(&aggregatev3.ClusterConfig{Clusters: step[1:]}),
						},
					}})
				}
				s.routes = plane.Routes(plane.To(step[0]))
				if control == nil {
					control = plane.Start(p, s.all()...)
					cc := xdsChannel(p, control)
					p.Printf("%s", callOf(p.Context(), cc, rig.Unary))
				} else {
					control.Set(s.all()...)
				}
				probe.Settle(moment)
				p.Printf("%v: clusters %q, endpoints %q", step, control.Asked("Cluster"), control.Asked("ClusterLoadAssignment"))
			}
		}})
	}
	return out
}
