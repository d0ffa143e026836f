// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"errors"
	"time"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
	orcaservice "github.com/cncf/xds/go/xds/service/orca/v3"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/status"
)

// leastInterval is how often reports may be sent at most. The gRFC has it as the default
// of the lower bound.
const leastInterval = 30 * time.Second

// Service sends reports out of band. It implements xds.service.orca.v3.OpenRcaService.
type Service struct {
	orcaservice.UnimplementedOpenRcaServiceServer

	provider ServerMetricsProvider
	interval time.Duration // lower bound
}

// ServiceOptions configure a Service.
type ServiceOptions struct {
	// ServerMetricsProvider tells what to report. It must be set.
	ServerMetricsProvider ServerMetricsProvider
	// MinReportingInterval is the lower bound of the time between reports, for clients
	// that ask for less or nothing. What is below 30 seconds counts as 30 seconds.
	MinReportingInterval time.Duration

	// anyInterval lifts the bound of 30 seconds.
	anyInterval bool
}

func init() {
	internal.ORCAAllowAnyMinReportingInterval = func(opts *ServiceOptions) { opts.anyInterval = true }
}

// NewService returns a service, an error if the options have no ServerMetricsProvider.
func NewService(opts ServiceOptions) (*Service, error) {
	if opts.ServerMetricsProvider == nil {
		return nil, errors.New("ServerMetricsProvider not specified")
	}
	interval := opts.MinReportingInterval
	if !opts.anyInterval || interval <= 0 {
		interval = max(interval, leastInterval)
	}
	return &Service{provider: opts.ServerMetricsProvider, interval: interval}, nil
}

// Register makes a service and registers it on a server, before that serves. Its error is
// NewService's.
func Register(s grpc.ServiceRegistrar, opts ServiceOptions) error {
	service, err := NewService(opts)
	if err != nil {
		return err
	}
	orcaservice.RegisterOpenRcaServiceServer(s, service)
	return nil
}

// StreamCoreMetrics sends a report at once and then from time to time, until the RPC is
// cancelled or the server stops.
func (s *Service) StreamCoreMetrics(req *orcaservice.OrcaLoadReportRequest, stream orcaservice.OpenRcaService_StreamCoreMetricsServer) error {
	interval := s.interval
	if d := req.GetReportInterval(); d != nil {
		if err := d.CheckValid(); err != nil {
			return status.Errorf(codes.InvalidArgument, "report_interval: %v", err)
		}
		interval = max(interval, d.AsDuration())
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := stream.Send(s.report()); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// report leaves out what is about single RPCs (gRFC A51, Rationale).
func (s *Service) report() *orcapb.OrcaLoadReport {
	metrics := unset()
	metrics.overlay(s.provider.ServerMetrics())
	metrics.RequestCost, metrics.NamedMetrics = nil, nil
	return metrics.report()
}
