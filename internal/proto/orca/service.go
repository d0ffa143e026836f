// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Here stands by hand what a generator would make of the service, because the name that
// is on the wire is not that of the messages' package.

const (
	serviceName = "xds.service.orca.v3.OpenRcaService"
	streamName  = "StreamCoreMetrics"
)

// OpenRcaServiceServer is the service of out-of-band reports.
type OpenRcaServiceServer interface {
	// StreamCoreMetrics sends a report from time to time.
	StreamCoreMetrics(*OrcaLoadReportRequest, OpenRcaService_StreamCoreMetricsServer) error
}

// OpenRcaService_StreamCoreMetricsServer is the server's side of StreamCoreMetrics.
type OpenRcaService_StreamCoreMetricsServer = grpc.ServerStreamingServer[OrcaLoadReport]

// UnimplementedOpenRcaServiceServer fails all RPCs. A server embeds it.
type UnimplementedOpenRcaServiceServer struct{}

// StreamCoreMetrics returns an error of code Unimplemented.
func (UnimplementedOpenRcaServiceServer) StreamCoreMetrics(*OrcaLoadReportRequest, OpenRcaService_StreamCoreMetricsServer) error {
	return status.Error(codes.Unimplemented, "method StreamCoreMetrics not implemented")
}

// RegisterOpenRcaServiceServer registers the service on a server.
func RegisterOpenRcaServiceServer(s grpc.ServiceRegistrar, srv OpenRcaServiceServer) {
	s.RegisterService(&OpenRcaService_ServiceDesc, srv)
}

// OpenRcaService_ServiceDesc describes the service. Do not change it.
var OpenRcaService_ServiceDesc = grpc.ServiceDesc{
	ServiceName: serviceName,
	HandlerType: (*OpenRcaServiceServer)(nil),
	Streams: []grpc.StreamDesc{{
		StreamName:    streamName,
		Handler:       streamCoreMetrics,
		ServerStreams: true,
	}},
	Metadata: "xds/service/orca/v3/orca.proto",
}

func streamCoreMetrics(srv any, stream grpc.ServerStream) error {
	request := new(OrcaLoadReportRequest)
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	return srv.(OpenRcaServiceServer).StreamCoreMetrics(request,
		&grpc.GenericServerStream[OrcaLoadReportRequest, OrcaLoadReport]{ServerStream: stream})
}

// StreamCoreMetrics asks a server for reports.
func StreamCoreMetrics(ctx context.Context, cc grpc.ClientConnInterface, request *OrcaLoadReportRequest) (grpc.ServerStreamingClient[OrcaLoadReport], error) {
	stream, err := cc.NewStream(ctx, &OpenRcaService_ServiceDesc.Streams[0], "/"+serviceName+"/"+streamName, grpc.StaticMethod())
	if err != nil {
		return nil, err
	}
	reports := &grpc.GenericClientStream[OrcaLoadReportRequest, OrcaLoadReport]{ClientStream: stream}
	// With io.EOF the stream has failed already, and Recv says why.
	if err := reports.SendMsg(request); err != nil && err != io.EOF {
		return nil, err
	}
	return reports, reports.CloseSend()
}
