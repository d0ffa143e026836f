// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	v3orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// reports are the load reports about a cluster. The zero value has none.
type reports struct {
	server  string // its key; "" if nobody is told
	service string
	load    *client.ClusterLoad
	release []func()
}

// update returns the counters, nil if nobody is to be told.
func (r *reports) update(name string, c *resource.Cluster, to *xdsclient.Client) *client.ClusterLoad {
	server := ""
	if c.LRS != nil {
		server = c.LRS.Key()
	}
	if server == r.server && c.EDSServiceName == r.service {
		return r.load
	}
	r.stop()
	r.server, r.service = server, c.EDSServiceName
	if server == "" {
		return nil
	}
	loads, stop := to.ReportLoad(c.LRS)
	load, release := loads.Cluster(name, c.EDSServiceName)
	r.load, r.release = load, []func(){release, stop}
	return load
}

func (r *reports) stop() {
	for _, f := range r.release {
		f()
	}
	*r = reports{}
}

// reportMetrics passes on what the cluster wants of a backend's report (A85).
func reportMetrics(to *client.LocalityLoad, want *resource.LoadMetrics, report any) {
	from, ok := report.(*v3orcapb.OrcaLoadReport)
	if !ok || from == nil {
		return
	}
	if want.CPU {
		to.ReportTop(client.CPU, from.GetCpuUtilization())
	}
	if want.Memory {
		to.ReportTop(client.Memory, from.GetMemUtilization())
	}
	if want.Application {
		to.ReportTop(client.Application, from.GetApplicationUtilization())
	}
	prefix := ""
	if want.Prefixed {
		prefix = "named_metrics."
	}
	if want.AllNamed {
		for name, v := range from.GetNamedMetrics() {
			to.ReportNamed(prefix+name, v)
		}
		return
	}
	for _, name := range want.Named {
		if v, ok := from.GetNamedMetrics()[name]; ok {
			to.ReportNamed(prefix+name, v)
		}
	}
}
