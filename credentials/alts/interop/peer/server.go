// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"google.golang.org/grpc/credentials/alts"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

// server echoes payloads, and sends as many messages as a client wants.
type server struct {
	testpb.UnimplementedTestServiceServer
}

// UnaryCall returns the payload, and the client's service account as the user name.
func (server) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	p, _ := peer.FromContext(ctx)
	info, err := alts.AuthInfoFromPeer(p)
	if err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: req.GetPayload(), Username: info.PeerServiceAccount()}, nil
}

func (server) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: req.GetPayload()}); err != nil {
			return err
		}
	}
}

// StreamingOutputCall sends messages of the requested size until the client ends the RPC.
func (server) StreamingOutputCall(req *testpb.StreamingOutputCallRequest, stream testpb.TestService_StreamingOutputCallServer) error {
	body := make([]byte, req.GetResponseParameters()[0].GetSize())
	msg := &testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: body}}
	for {
		if err := stream.Send(msg); err != nil {
			return err
		}
	}
}
