// SPDX-License-Identifier: Apache-2.0

// Package orca lets servers report their load to balancers (gRFC A51, Open Request Cost
// Aggregation). Servers send reports in the trailers of RPCs, or out of band, on a stream
// that is only for reports.
//
// A server reports in trailers with CallMetricsServerOption. Its handlers get the recorder
// of their RPC by CallMetricsRecorderFromContext. A server reports out of band with Register.
// A balancer finds reports from trailers in DoneInfo.ServerLoad, and gets reports out of band
// with RegisterOOBListener. Channels read the trailers only in programs that import this
// package.
//
// Experimental: all of it may change or be removed in a later release.
package orca

import (
	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// trailerKey is the trailer with an RPC's report.
const trailerKey = "endpoint-load-metrics-bin"

var logger = grpclog.Component("orca")

func init() {
	loadreport.Register(reportFromTrailer)
}

// reportFromTrailer returns the report in the trailers. If there is not exactly one that can be
// parsed, it returns a nil *OrcaLoadReport, and not a nil interface, because programs assert
// the type.
func reportFromTrailer(md metadata.MD) any {
	var none *orcapb.OrcaLoadReport
	values := md[trailerKey]
	if len(values) != 1 {
		return none
	}
	report := new(orcapb.OrcaLoadReport)
	if err := proto.Unmarshal([]byte(values[0]), report); err != nil {
		if logger.V(2) { // a server may do it with each RPC
			logger.Infof("a load report in trailers can't be read: %v", err)
		}
		return none
	}
	return report
}
