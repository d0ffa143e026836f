// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	v3orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

// reports are the load reports about a cluster. nil is for those of which nobody is told.
type reports struct {
	server  string // its key
	service string
	load    *client.ClusterLoad
	release func()
}

// update returns the reports that a cluster wants now, and ends what it does not want any more.
func (r *reports) update(name string, c *resource.Cluster, to *xdsclient.Client) *reports {
	if c.LRS == nil {
		r.stop()
		return nil
	}
	server := c.LRS.Key()
	if r != nil && server == r.server && c.EDSServiceName == r.service {
		return r
	}
	r.stop()
	loads, stop := to.ReportLoad(c.LRS)
	load, release := loads.Cluster(name, c.EDSServiceName)
	return &reports{server, c.EDSServiceName, load, func() {
		release()
		stop()
	}}
}

// counters are where to count, nil if nobody is told.
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
