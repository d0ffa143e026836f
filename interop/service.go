// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"io"
	"strconv"
	"time"

	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // the compressor of the compression cases
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/status"
)

const (
	// The keys of the metadata that the server sends back: the first in headers, the second
	// in trailers.
	echoInitialKey  = "x-grpc-test-echo-initial"
	echoTrailingKey = "x-grpc-test-echo-trailing-bin"
)

// NewServer returns a server on which the test service and the service of load reports out of
// band are registered. The caller must call Serve and Stop.
func NewServer(opts ...grpc.ServerOption) *grpc.Server {
	reports := newLoadReports()
	s := grpc.NewServer(append([]grpc.ServerOption{
		grpc.StatsHandler(flagHandler{}),
		grpc.MaxRecvMsgSize(maxPayload),
		orca.CallMetricsServerOption(nil),
	}, opts...)...)
	testpb.RegisterTestServiceServer(s, testService{reports: reports})
	orcaservice.RegisterOpenRcaServiceServer(s, reports)
	return s
}

// NewTestServer returns only the test service. On a server that NewServer did not make, it
// can't tell which requests came compressed, so it does not refuse any because of that. It
// sends no load reports.
func NewTestServer() testpb.TestServiceServer { return testService{} }

// testService implements the test service. It has no UnimplementedCall on purpose: the embedded
// type returns Unimplemented for it. It is safe for concurrent use.
type testService struct {
	testpb.UnimplementedTestServiceServer

	// reports is the service of load reports out of band. It is nil if there is none.
	reports *loadReports
}

func (testService) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	if err := echoMetadata(ctx); err != nil {
		return nil, err
	}
	return &testpb.Empty{}, nil
}

func (testService) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if err := echoMetadata(ctx); err != nil {
		return nil, err
	}
	if err := checkCompressed(ctx, req.GetExpectCompressed()); err != nil {
		return nil, err
	}
	if err := echoStatus(req.GetResponseStatus()); err != nil {
		return nil, err
	}
	reportCost(ctx, req.GetOrcaPerQueryReport())
	if want := req.GetResponseCompressed(); want != nil {
		if err := grpc.SetSendCompressor(ctx, encodingFor(want.GetValue())); err != nil {
			return nil, status.Errorf(codes.Internal, "choosing the response's compressor: %v", err)
		}
	}
	p, err := newPayload(req.GetResponseType(), req.GetResponseSize())
	if err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: p}, nil
}

func (testService) CacheableUnaryCall(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs("cache-control", "max-age=60, public")); err != nil {
		return nil, err
	}
	// Two responses are equal only if a cache returned the second.
	now := strconv.FormatInt(time.Now().UnixNano(), 10)
	return &testpb.SimpleResponse{Payload: &testpb.Payload{Body: []byte(now)}}, nil
}

func (testService) StreamingInputCall(stream testpb.TestService_StreamingInputCallServer) error {
	if err := echoMetadata(stream.Context()); err != nil {
		return err
	}
	var sum int
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		if err := checkCompressed(stream.Context(), req.GetExpectCompressed()); err != nil {
			return err
		}
		sum += len(req.GetPayload().GetBody())
	}
}

func (testService) StreamingOutputCall(req *testpb.StreamingOutputCallRequest, stream testpb.TestService_StreamingOutputCallServer) error {
	if err := echoMetadata(stream.Context()); err != nil {
		return err
	}
	out, err := newResponder(stream, req)
	if err != nil {
		return err
	}
	return out.serve(req)
}

func (s testService) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	if err := echoMetadata(stream.Context()); err != nil {
		return err
	}
	reports := publisher{reports: s.reports}
	defer reports.end()
	var out *responder
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := reports.publish(stream.Context(), req.GetOrcaOobReport()); err != nil {
			return err
		}
		if out == nil {
			if out, err = newResponder(stream, req); err != nil {
				return err
			}
		}
		if err := out.serve(req); err != nil {
			return err
		}
	}
}

func (testService) HalfDuplexCall(stream testpb.TestService_HalfDuplexCallServer) error {
	if err := echoMetadata(stream.Context()); err != nil {
		return err
	}
	var reqs []*testpb.StreamingOutputCallRequest
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		reqs = append(reqs, req)
	}
	out, err := newResponder(stream, reqs...)
	if err != nil {
		return err
	}
	for _, req := range reqs {
		if err := out.serve(req); err != nil {
			return err
		}
	}
	return nil
}

// echoMetadata sends the two echo keys of the request back, one in headers and one in trailers.
func echoMetadata(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get(echoInitialKey); len(v) > 0 {
		if err := grpc.SetHeader(ctx, metadata.MD{echoInitialKey: v}); err != nil {
			return err
		}
	}
	if v := md.Get(echoTrailingKey); len(v) > 0 {
		return grpc.SetTrailer(ctx, metadata.MD{echoTrailingKey: v})
	}
	return nil
}

// checkCompressed returns an error if the compressed flag of the last request is not want. With
// a nil want it returns nil.
func checkCompressed(ctx context.Context, want *testpb.BoolValue) error {
	r := receivedFrom(ctx)
	if want == nil || r == nil {
		return nil
	}
	got, ok := r.last()
	if !ok {
		return status.Error(codes.Internal, "no stats event came for the request")
	}
	if got != want.GetValue() {
		return status.Errorf(codes.InvalidArgument, "request compressed: %v, expected: %v", got, want.GetValue())
	}
	return nil
}

// encodingFor returns the name of an encoding that compresses, or of one that does not.
func encodingFor(compressed bool) string {
	if compressed {
		return "gzip"
	}
	return "identity"
}
