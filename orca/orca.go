// SPDX-License-Identifier: Apache-2.0

// Package orca is how servers report their load and balancers hear of it (gRFC A51,
// Open Request Cost Aggregation): in the trailers of RPCs, and out of band, on a stream
// of their own.
//
// A server reports in trailers with CallMetricsServerOption; handlers get the recorder
// of their RPC by CallMetricsRecorderFromContext. It reports out of band with Register.
// A balancer finds what came in trailers in DoneInfo.ServerLoad, and hears of what comes
// out of band by RegisterOOBListener. Importing the package makes channels read the
// trailers.
//
// All of it may change or go in a later release.
package orca

import (
	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/loadreport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// trailerKey is where RPCs carry their report.
const trailerKey = "endpoint-load-metrics-bin"

var logger = grpclog.Component("orca")

func init() {
	loadreport.Register(reportFromTrailer)
}

// reportFromTrailer returns the report in the trailers. It is a nil *OrcaLoadReport, not
// nil itself, where there is not just one that can be read: programs assert the type.
func reportFromTrailer(md metadata.MD) any {
	var none *orcapb.OrcaLoadReport
	values := md[trailerKey]
	if len(values) != 1 {
		return none
	}
	report := new(orcapb.OrcaLoadReport)
	if err := proto.Unmarshal([]byte(values[0]), report); err != nil {
		logger.Warningf("a load report in trailers can't be read: %v", err)
		return none
	}
	return report
}
