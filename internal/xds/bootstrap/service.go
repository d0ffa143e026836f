// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
)

// Service is a server that filters may call, with the credentials to use (A102).
type Service struct {
	creds
	key string
}

// Key returns a string that is the same for services with the same credentials.
func (s *Service) Key() string { return s.key }

// serviceJSON is the JSON form of a value in "allowed_grpc_services".
type serviceJSON struct {
	ChannelCreds []credsConfig `json:"channel_creds"`
	CallCreds    []credsConfig `json:"call_creds,omitempty"`
}

// parse is like parseServer, but for a service. Call credentials are always allowed: no
// environment variable enables them.
func (in *serviceJSON) parse() (*Service, error) {
	s := &Service{}
	if !s.choose(in.ChannelCreds, in.CallCreds) {
		return nil, errors.New("field channel_creds has no credentials of a known type")
	}
	key, err := json.Marshal(serviceJSON{ChannelCreds: []credsConfig{s.channel}, CallCreds: s.calls})
	if err != nil {
		return nil, err
	}
	s.key = string(key)
	_, _, done, err := s.Credentials() // checks the configurations of the credentials
	if err != nil {
		return nil, err
	}
	done()
	return s, nil
}
