// SPDX-License-Identifier: Apache-2.0

// Package csds has Envoy's Client Status Discovery Service (gRFC A40): it shows the xDS
// resources that this program has asked control planes for, as they came, and what is wrong with
// those that are not in use. Programs that import package xds have it registered by package
// admin.
//
// Whoever can call the service sees the resources, so a server for users should not have it.
//
// Experimental: this API may change in a later release.
package csds

import (
	"context"
	"errors"
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

// ClientStatusDiscoveryServer implements the service for all xDS clients of the process. Make it
// with NewClientStatusDiscoveryServer. Its methods may be called by any goroutine.
type ClientStatusDiscoveryServer struct {
	from *source
}

// source is where the clients are: a function, so that who prints the server prints no configuration.
type source struct{ pool func() *xdsclient.Pool }

// NewClientStatusDiscoveryServer returns an implementation, to be registered with a server. The
// error is always nil.
func NewClientStatusDiscoveryServer() (*ClientStatusDiscoveryServer, error) {
	return &ClientStatusDiscoveryServer{from: &source{xdsclient.Default}}, nil
}

// StreamClientStatus answers each request with what there is at that time. The error is that of
// FetchClientStatus.
func (s *ClientStatusDiscoveryServer) StreamClientStatus(stream statusv3.ClientStatusDiscoveryService_StreamClientStatusServer) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
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

// FetchClientStatus returns what there is, by client: a channel's is named by its target, that of
// servers "#server". It fails with codes.InvalidArgument if the request has node matchers. What
// exclude_resource_contents leaves out is left out.
func (s *ClientStatusDiscoveryServer) FetchClientStatus(_ context.Context, req *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	if m := req.GetNodeMatchers(); len(m) > 0 {
		return nil, status.Errorf(codes.InvalidArgument, "node_matchers are not supported, request contains node_matchers: %v", m)
	}
	resp := &statusv3.ClientStatusResponse{}
	for name, c := range s.from.pool().Clients() {
		resp.Config = append(resp.Config, &statusv3.ClientConfig{
			Node:              c.Bootstrap().Node(),
			ClientScope:       name,
			GenericXdsConfigs: configs(c.Resources(), req.GetExcludeResourceContents()),
		})
	}
	slices.SortFunc(resp.Config, func(a, b *statusv3.ClientConfig) int { return strings.Compare(a.ClientScope, b.ClientScope) })
	return resp, nil
}

// Close does nothing: the service holds nothing.
func (*ClientStatusDiscoveryServer) Close() {}

// configs returns the resources by type and name.
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
	out := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: r.TypeURL, Name: r.Name, ClientStatus: stateOf(r.State)}
	if r.Raw != nil {
		out.VersionInfo = r.Version
		out.LastUpdated = timestamppb.New(r.Updated)
		out.XdsConfig = &anypb.Any{TypeUrl: r.TypeURL, Value: r.Raw}
	}
	if r.Err != nil && r.State != client.DoesNotExist {
		out.ErrorState = &adminv3.UpdateFailureState{
			LastUpdateAttempt: timestamppb.New(r.ErrTime), Details: r.Err.Error(), VersionInfo: r.ErrVersion,
		}
	}
	return out
}

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
