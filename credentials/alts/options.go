// SPDX-License-Identifier: Apache-2.0

package alts

// defaultService is the address of the handshaker service on Google Cloud's machines.
const defaultService = "dns:///metadata.google.internal.:8080"

// ClientOptions are the options of NewClientCreds.
type ClientOptions struct {
	// TargetServiceAccounts are the service accounts that a server may run as. If there
	// are none, every server is accepted.
	TargetServiceAccounts []string
	// HandshakerServiceAddress is the handshaker service's address, a target for
	// grpc.NewClient. Empty means that of Google Cloud's machines; programs have no reason
	// to use another one.
	HandshakerServiceAddress string
}

// DefaultClientOptions returns a new ClientOptions that accepts every server and has the
// address of Google Cloud's handshaker service.
func DefaultClientOptions() *ClientOptions {
	return &ClientOptions{HandshakerServiceAddress: defaultService}
}

// ServerOptions are the options of NewServerCreds.
type ServerOptions struct {
	// HandshakerServiceAddress is the handshaker service's address, a target for
	// grpc.NewClient. Empty means that of Google Cloud's machines; programs have no reason
	// to use another one.
	HandshakerServiceAddress string
}

// DefaultServerOptions returns a new ServerOptions with the address of Google Cloud's
// handshaker service.
func DefaultServerOptions() *ServerOptions {
	return &ServerOptions{HandshakerServiceAddress: defaultService}
}
