// SPDX-License-Identifier: Apache-2.0

package sts

// Options say which token to exchange, what kind of token to exchange it for, and with which
// service. The names are those of RFC 8693, section 2.1.
type Options struct {
	// TokenExchangeServiceURI is the URI of the token exchange service. Its scheme is http or
	// https. Required.
	TokenExchangeServiceURI string
	// Resource is the URI of the service that the new token is for. Optional.
	Resource string
	// Audience is the logical name of that service. Optional.
	Audience string
	// Scope is a list, separated by spaces, of what the new token should allow. If it is
	// empty, https://www.googleapis.com/auth/cloud-platform is used.
	Scope string
	// RequestedTokenType is a token type identifier (section 3). Optional.
	RequestedTokenType string
	// SubjectTokenPath is a file with the token of the party that RPCs are made for.
	// Required.
	SubjectTokenPath string
	// SubjectTokenType is the token type identifier of the subject token. Required.
	SubjectTokenType string
	// ActorTokenPath is a file with the token of the party that makes the RPCs. Optional.
	ActorTokenPath string
	// ActorTokenType is the token type identifier of the actor token. Optional.
	ActorTokenType string
}
