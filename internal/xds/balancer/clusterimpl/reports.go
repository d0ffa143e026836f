// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	v3orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// reports are the load reports about a cluster. A nil reports means that there are none.
type reports struct {
	server  string // bootstrap.Server.Key of the server
	cluster string
	service string
	load    *client.ClusterLoad
	release func()
}

// update returns the reports that the cluster asks for now, and stops r if that is different.
func (r *reports) update(name string, c *resource.Cluster, to *xdsclient.Client) *reports {
	if c.LRS == nil {
		r.stop()
		return nil
	}
	server := c.LRS.Key()
	if r != nil && server == r.server && name == r.cluster && c.EDSServiceName == r.service {
		return r
	}
	defer r.stop() // after ReportLoad: what has been counted is lost once nobody reports to the server
	loads, stop := to.ReportLoad(c.LRS)
	load, release := loads.Cluster(name, c.EDSServiceName)
	return &reports{server, name, c.EDSServiceName, load, func() {
		release()
		stop()
	}}
}

// counters returns the counters of the reports, or nil if there are no reports.
func (r *reports) counters() *client.ClusterLoad {
	if r == nil {
		return nil
	}
	return r.load
}

func (r *reports) stop() {
	if r != nil {
		r.release()
	}
}

// reportMetrics adds those metrics of a backend's report that the cluster asks for (A85).
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
