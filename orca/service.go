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

// leastInterval is the shortest time between reports. It is the default that the gRFC gives
// for MinReportingInterval.
const leastInterval = 30 * time.Second

// Service sends reports out of band. It implements xds.service.orca.v3.OpenRcaService.
type Service struct {
	orcaservice.UnimplementedOpenRcaServiceServer

	provider ServerMetricsProvider
	interval time.Duration // lower bound
}

// ServiceOptions configure a Service.
type ServiceOptions struct {
	// ServerMetricsProvider has the metrics to report. It must be set.
	ServerMetricsProvider ServerMetricsProvider
	// MinReportingInterval is the shortest time between reports. It also applies to
	// clients that request a shorter interval or none. Values below 30 seconds mean 30
	// seconds.
	MinReportingInterval time.Duration

	// anyInterval allows a MinReportingInterval below 30 seconds.
	anyInterval bool
}

func init() {
	internal.ORCAAllowAnyMinReportingInterval = func(opts *ServiceOptions) { opts.anyInterval = true }
}

// NewService returns a Service. It returns an error if opts have no ServerMetricsProvider.
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

// Register makes a Service with NewService and registers it on a server. Call it before the
// server serves. Its error is that of NewService.
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

// report returns a report without the metrics of single RPCs (gRFC A51, Rationale).
func (s *Service) report() *orcapb.OrcaLoadReport {
	metrics := unset()
	metrics.overlay(s.provider.ServerMetrics())
	metrics.RequestCost, metrics.NamedMetrics = nil, nil
	return metrics.report()
}
