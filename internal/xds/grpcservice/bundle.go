// SPDX-License-Identifier: Apache-2.0

package grpcservice

import "google.golang.org/grpc/credentials"

// bundle has transport credentials and call credentials, which may be nil. It has only one
// mode.
type bundle struct {
	transport credentials.TransportCredentials
	calls     credentials.PerRPCCredentials
}

// TransportCredentials implements credentials.Bundle.
func (b bundle) TransportCredentials() credentials.TransportCredentials { return b.transport }

// PerRPCCredentials implements credentials.Bundle.
func (b bundle) PerRPCCredentials() credentials.PerRPCCredentials { return b.calls }

// NewWithMode implements credentials.Bundle.
func (b bundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }
