// SPDX-License-Identifier: Apache-2.0

package sts

// Options say which token is exchanged for which, and where. The names are those of RFC
// 8693, section 2.1.
type Options struct {
	// TokenExchangeServiceURI is the service's, with the scheme http or https. Required.
	TokenExchangeServiceURI string
	// Resource is the URI of the service that the new token is to be used with. Optional.
	Resource string
	// Audience is the logical name of that service. Optional.
	Audience string
	// Scope is a list, separated by spaces, of what the new token should allow. If it is
	// empty: https://www.googleapis.com/auth/cloud-platform.
	Scope string
	// RequestedTokenType is a token type identifier (section 3). Optional.
	RequestedTokenType string
	// SubjectTokenPath is a file with the token of the party that RPCs are made for.
	// Required.
	SubjectTokenPath string
	// SubjectTokenType is its token type identifier. Required.
	SubjectTokenType string
	// ActorTokenPath is a file with the token of the party that makes the RPCs. Optional.
	ActorTokenPath string
	// ActorTokenType is its token type identifier. Optional.
	ActorTokenType string
}
