// SPDX-License-Identifier: Apache-2.0

// Package csds implements Envoy's Client Status Discovery Service (gRFC A40). The service shows the
// xDS resources that this program has requested from control planes, as it received them, and the
// errors of those that it does not use. In programs that import package xds, package admin registers
// this service.
//
// Anyone who can call the service sees these resources, so do not register it on a server that the
// public can reach.
//
// Experimental: this API may change in a later release.
package csds

import (
	"context"
	"io"
	"slices"
	"strings"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ClientStatusDiscoveryServer implements the service for all xDS clients of the process. Make one
// with NewClientStatusDiscoveryServer. Its methods are safe for concurrent use.
type ClientStatusDiscoveryServer struct {
	from *source
}

// source leads to the clients. It holds a function, so that printing the server does not print
// configurations.
type source struct{ pool func() *xdsclient.Pool }

// NewClientStatusDiscoveryServer returns an implementation to register with a server. The error is
// always nil.
func NewClientStatusDiscoveryServer() (*ClientStatusDiscoveryServer, error) {
	return &ClientStatusDiscoveryServer{from: &source{xdsclient.Default}}, nil
}

// StreamClientStatus answers each request with the status at that time. It fails where
// FetchClientStatus would.
func (s *ClientStatusDiscoveryServer) StreamClientStatus(stream statusv3.ClientStatusDiscoveryService_StreamClientStatusServer) error {
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		resp, err := s.FetchClientStatus(stream.Context(), req)
		if err != nil {
			return err
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// FetchClientStatus returns the status of each xDS client. The client of a channel is named after the
// channel's target; the client of servers is named "#server". It fails with codes.InvalidArgument if
// the request has node matchers. It leaves out the contents of resources if the request sets
// exclude_resource_contents.
func (s *ClientStatusDiscoveryServer) FetchClientStatus(_ context.Context, req *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	if m := req.GetNodeMatchers(); len(m) > 0 {
		return nil, status.Errorf(codes.InvalidArgument, "node_matchers are not supported, request contains %d node_matchers", len(m))
	}
	resp := &statusv3.ClientStatusResponse{}
	for name, c := range s.from.pool().Clients() {
		resp.Config = append(resp.Config, &statusv3.ClientConfig{
			Node:              c.Bootstrap().Node(),
			ClientScope:       text(name),
			GenericXdsConfigs: configs(c.Resources(), req.GetExcludeResourceContents()),
		})
	}
	slices.SortFunc(resp.Config, func(a, b *statusv3.ClientConfig) int { return strings.Compare(a.ClientScope, b.ClientScope) })
	return resp, nil
}

// Close does nothing, as the service holds no resources.
func (*ClientStatusDiscoveryServer) Close() {}

// configs returns the resources sorted by type and name.
func configs(list []client.Resource, withoutContents bool) []*statusv3.ClientConfig_GenericXdsConfig {
	out := make([]*statusv3.ClientConfig_GenericXdsConfig, len(list))
	for i := range list {
		out[i] = config(&list[i])
		if withoutContents {
			out[i].XdsConfig = nil
		}
	}
	slices.SortFunc(out, func(a, b *statusv3.ClientConfig_GenericXdsConfig) int {
		if c := strings.Compare(a.TypeUrl, b.TypeUrl); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

func config(r *client.Resource) *statusv3.ClientConfig_GenericXdsConfig {
	out := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: r.TypeURL, Name: text(r.Name), ClientStatus: stateOf(r.State)}
	if r.Raw != nil {
		out.VersionInfo = r.Version
		out.LastUpdated = timestamppb.New(r.Updated)
		out.XdsConfig = &anypb.Any{TypeUrl: r.TypeURL, Value: r.Raw}
	}
	// What does not exist has an error only if its deletion is ignored: gRFC A88.
	if r.Err != nil && (r.State != client.DoesNotExist || r.Raw != nil) {
		out.ErrorState = &adminv3.UpdateFailureState{
			LastUpdateAttempt: timestamppb.New(r.ErrTime), Details: text(r.Err.Error()), VersionInfo: r.ErrVersion,
		}
	}
	return out
}

// text makes a valid string of protobuf of s, which may be a target of the program's, or what a template made of one.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func stateOf(s client.State) adminv3.ClientResourceStatus {
	switch s {
	case client.Requested:
		return adminv3.ClientResourceStatus_REQUESTED
	case client.DoesNotExist:
		return adminv3.ClientResourceStatus_DOES_NOT_EXIST
	case client.ACKed:
		return adminv3.ClientResourceStatus_ACKED
	case client.NACKed:
		return adminv3.ClientResourceStatus_NACKED
	case client.ReceivedError:
		return adminv3.ClientResourceStatus_RECEIVED_ERROR
	case client.TimedOut:
		return adminv3.ClientResourceStatus_TIMEOUT
	default:
		return adminv3.ClientResourceStatus_UNKNOWN
	}
}
