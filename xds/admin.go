// SPDX-License-Identifier: Apache-2.0

package xds

import (
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/admin"
	"google.golang.org/grpc/xds/csds"
)

func init() {
	admin.Default.Add(func(s grpc.ServiceRegistrar) (func(), error) {
		service, err := csds.NewClientStatusDiscoveryServer()
		if err != nil {
			return nil, err
		}
		statusv3.RegisterClientStatusDiscoveryServiceServer(s, service)
		return service.Close, nil
	})
}
