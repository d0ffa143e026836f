// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"errors"

	"google.golang.org/grpc/credentials"
)

// creds is what client and server credentials have in common.
type creds struct {
	fallback credentials.TransportCredentials
}

// Info implements credentials.TransportCredentials.
func (c *creds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// OverrideServerName implements credentials.TransportCredentials. It always fails: the control
// plane configures which names are acceptable.
func (c *creds) OverrideServerName(string) error {
	return errors.New("serverName for peer validation must be configured as a list of acceptable SANs")
}

// UsesXDS returns true. Other packages recognize xDS credentials by this method.
func (c *creds) UsesXDS() bool { return true }
