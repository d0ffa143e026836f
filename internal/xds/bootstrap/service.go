// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
)

// Service is how to talk to a server that filters may show RPCs to (A102).
type Service struct {
	creds
	key string
}

// Key is the same for two services with the same credentials.
func (s *Service) Key() string { return s.key }

// serviceJSON is a value of "allowed_grpc_services".
type serviceJSON struct {
	ChannelCreds []credsConfig `json:"channel_creds"`
	CallCreds    []credsConfig `json:"call_creds,omitempty"`
}

// parse is parseServer for a service. Call credentials need no variable of their own.
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
	_, _, done, err := s.Credentials() // is what they are built from valid?
	if err != nil {
		return nil, err
	}
	done()
	return s, nil
}
