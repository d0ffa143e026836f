// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/jwt"
)

func init() {
	RegisterChannelCredentials(googleDefault{})
	RegisterChannelCredentials(insecureCreds{})
	RegisterChannelCredentials(tlsCreds{})
	RegisterCallCredentials(jwtTokenFile{})
}

type googleDefault struct{}

func (googleDefault) Name() string { return "google_default" }

func (googleDefault) Build(json.RawMessage) (credentials.Bundle, func(), error) {
	return google.NewDefaultCredentials(), nothing, nil
}

type insecureCreds struct{}

func (insecureCreds) Name() string { return "insecure" }

func (insecureCreds) Build(json.RawMessage) (credentials.Bundle, func(), error) {
	return insecure.NewBundle(), nothing, nil
}

// jwtTokenFile makes the call credentials "jwt_token_file" of gRFC A97.
type jwtTokenFile struct{}

func (jwtTokenFile) Name() string { return "jwt_token_file" }

func (jwtTokenFile) Build(config json.RawMessage) (credentials.PerRPCCredentials, func(), error) {
	var in struct {
		File string `json:"jwt_token_file"`
	}
	if err := unmarshal(config, &in); err != nil {
		return nil, nothing, fmt.Errorf("jwt_token_file: %w", err)
	}
	if in.File == "" {
		return nil, nothing, errors.New("jwt_token_file: the configuration lacks field jwt_token_file")
	}
	creds, err := jwt.NewTokenFileCallCredentials(in.File)
	return creds, nothing, err
}
