// SPDX-License-Identifier: Apache-2.0

// Package bootstrap has the registry of the kinds of credentials that an xDS bootstrap file
// may name. They secure the connections to control planes. A server entry of the file names
// them in "channel_creds" (gRFC A27) and "call_creds" (gRFC A97).
//
// Some kinds are registered from the start. The channel credentials are "google_default",
// "insecure", and "tls" (gRFC A65). The configuration of "tls" may name the file
// "ca_certificate_file" (without it the system's roots are used), the files "certificate_file"
// and "private_key_file", and the "refresh_interval". The call credentials are
// "jwt_token_file", whose configuration names a file in a field that is also called
// "jwt_token_file".
//
// Experimental: this API may change in a later release.
package bootstrap

import (
	"encoding/json"
	"sync"

	"google.golang.org/grpc/credentials"
)

// ChannelCredentials makes channel credentials of one kind.
type ChannelCredentials interface {
	// Build returns credentials for the "config" of the bootstrap file, which is nil if the
	// file has none. It is called each time the file is read, to check it, and once for each
	// connection to a control plane. The returned function, if it is not nil, is called when the credentials
	// are no longer in use.
	Build(config json.RawMessage) (credentials.Bundle, func(), error)
	// Name returns the "type" by which the bootstrap file refers to these credentials.
	Name() string
}

// CallCredentials makes call credentials of one kind.
type CallCredentials interface {
	// Build works like ChannelCredentials.Build.
	Build(config json.RawMessage) (credentials.PerRPCCredentials, func(), error)
	// Name returns the "type" by which the bootstrap file refers to these credentials.
	Name() string
}

var registry struct {
	sync.RWMutex
	channel map[string]ChannelCredentials
	call    map[string]CallCredentials
}

// RegisterChannelCredentials registers c for bootstrap files that are read from now on. Names
// are case-sensitive. c replaces credentials that are already registered under the same name.
func RegisterChannelCredentials(c ChannelCredentials) {
	name := c.Name()
	registry.Lock()
	defer registry.Unlock()
	if registry.channel == nil {
		registry.channel = make(map[string]ChannelCredentials)
	}
	registry.channel[name] = c
}

// GetChannelCredentials returns the credentials registered under name, or nil if there are
// none.
func GetChannelCredentials(name string) ChannelCredentials {
	registry.RLock()
	defer registry.RUnlock()
	return registry.channel[name]
}

// RegisterCallCredentials registers call credentials in the way that
// RegisterChannelCredentials registers channel credentials.
func RegisterCallCredentials(c CallCredentials) {
	name := c.Name()
	registry.Lock()
	defer registry.Unlock()
	if registry.call == nil {
		registry.call = make(map[string]CallCredentials)
	}
	registry.call[name] = c
}

// GetCallCredentials returns the credentials registered under name, or nil if there are none.
func GetCallCredentials(name string) CallCredentials {
	registry.RLock()
	defer registry.RUnlock()
	return registry.call[name]
}
