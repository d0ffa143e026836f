// SPDX-License-Identifier: Apache-2.0

package xds

import (
	"errors"

	"google.golang.org/grpc/credentials"
)

// creds is what both sides have in common.
type creds struct {
	fallback credentials.TransportCredentials
}

// Info implements credentials.TransportCredentials.
func (c *creds) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// OverrideServerName implements credentials.TransportCredentials. It fails: names are the control
// plane's business.
func (c *creds) OverrideServerName(string) error {
	return errors.New("serverName for peer validation must be configured as a list of acceptable SANs")
}

// UsesXDS reports that these are xDS credentials, to those that ask any.
func (c *creds) UsesXDS() bool { return true }
