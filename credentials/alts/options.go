// SPDX-License-Identifier: Apache-2.0

package alts

// defaultService is the handshaker service that Google Cloud's machines have.
const defaultService = "dns:///metadata.google.internal.:8080"

// ClientOptions are the options of NewClientCreds.
type ClientOptions struct {
	// TargetServiceAccounts are the service accounts that a server may run as. Any
	// of them will do; without any, every server passes.
	TargetServiceAccounts []string
	// HandshakerServiceAddress is where the handshaker service is, a target as
	// grpc.NewClient takes it. Programs have no reason to change it.
	HandshakerServiceAddress string
}

// DefaultClientOptions returns options that accept every server, with Google Cloud's
// handshaker service. Each call returns new ones.
func DefaultClientOptions() *ClientOptions {
	return &ClientOptions{HandshakerServiceAddress: defaultService}
}

// ServerOptions are the options of NewServerCreds.
type ServerOptions struct {
	// HandshakerServiceAddress is where the handshaker service is, a target as
	// grpc.NewClient takes it. Programs have no reason to change it.
	HandshakerServiceAddress string
}

// DefaultServerOptions returns options with Google Cloud's handshaker service. Each
// call returns new ones.
func DefaultServerOptions() *ServerOptions {
	return &ServerOptions{HandshakerServiceAddress: defaultService}
}
