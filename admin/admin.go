// SPDX-License-Identifier: Apache-2.0

// Package admin adds the services for administrators to a server (gRFC A38). That is
// channelz, and the client status discovery service (CSDS) in programs that import package xds.
//
// Experimental: this API may change in a later release.
package admin

import (
	"google.golang.org/grpc"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/internal/admin"
)

func init() {
	admin.Default.Add(func(s grpc.ServiceRegistrar) (func(), error) {
		channelz.RegisterChannelzServiceToServer(s)
		return nil, nil
	})
}

// Register adds the services to a server. The caller must call cleanup when the server has
// stopped. cleanup is nil if there is an error. Every client of the server can see what
// these services show, so use a server other than the one that serves users.
func Register(s grpc.ServiceRegistrar) (cleanup func(), err error) {
	return admin.Default.Register(s)
}
