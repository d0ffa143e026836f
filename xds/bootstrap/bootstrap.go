// SPDX-License-Identifier: Apache-2.0

// Package bootstrap is where programs register the kinds of credentials that an xDS bootstrap
// file may name, for the connections to control planes: in "channel_creds" (gRFC A27) and in
// "call_creds" (gRFC A97) of a server.
//
// These are there from the start. Channel credentials: "google_default"; "insecure"; and "tls"
// (gRFC A65), whose configuration may name the files "ca_certificate_file" (the system's roots
// without it), "certificate_file" with "private_key_file", and "refresh_interval". Call
// credentials: "jwt_token_file", whose configuration names the file of that name.
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
	// Build makes credentials from the "config" of the bootstrap file, which is nil where the
	// file has none. It is called once to check the file, and once for each connection to a
	// control plane. The function, if it is not nil, is called when the credentials are no
	// longer in use.
	Build(config json.RawMessage) (credentials.Bundle, func(), error)
	// Name returns what the bootstrap file has as "type".
	Name() string
}

// CallCredentials makes call credentials of one kind.
type CallCredentials interface {
	// Build is like that of ChannelCredentials.
	Build(config json.RawMessage) (credentials.PerRPCCredentials, func(), error)
	// Name returns what the bootstrap file has as "type".
	Name() string
}

var registry struct {
	sync.RWMutex
	channel map[string]ChannelCredentials
	call    map[string]CallCredentials
}

// RegisterChannelCredentials makes c known to bootstrap files that are read from now on. The
// letter case of names counts; of two with the same name the later one stays.
func RegisterChannelCredentials(c ChannelCredentials) {
	registry.Lock()
	defer registry.Unlock()
	if registry.channel == nil {
		registry.channel = make(map[string]ChannelCredentials)
	}
	registry.channel[c.Name()] = c
}

// GetChannelCredentials returns what is registered by the name, nil if nothing is.
func GetChannelCredentials(name string) ChannelCredentials {
	registry.RLock()
	defer registry.RUnlock()
	return registry.channel[name]
}

// RegisterCallCredentials is RegisterChannelCredentials for call credentials.
func RegisterCallCredentials(c CallCredentials) {
	registry.Lock()
	defer registry.Unlock()
	if registry.call == nil {
		registry.call = make(map[string]CallCredentials)
	}
	registry.call[c.Name()] = c
}

// GetCallCredentials returns what is registered by the name, nil if nothing is.
func GetCallCredentials(name string) CallCredentials {
	registry.RLock()
	defer registry.RUnlock()
	return registry.call[name]
}
