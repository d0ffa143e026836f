// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// Where the xDS bootstrap is (gRFC A27).
var (
	// XDSBootstrapFile is the path of a file with the bootstrap configuration; it takes precedence over
	// XDSBootstrapConfig. GRPC_XDS_BOOTSTRAP.
	XDSBootstrapFile = os.Getenv("GRPC_XDS_BOOTSTRAP")

	// XDSBootstrapConfig is the bootstrap configuration itself, which is JSON.
	// GRPC_XDS_BOOTSTRAP_CONFIG.
	XDSBootstrapConfig = os.Getenv("GRPC_XDS_BOOTSTRAP_CONFIG")

	// XDSC2PURI is the target of the control plane that package googledirectpath uses instead of Google's.
	// It is for Google's tests. GRPC_TEST_ONLY_GOOGLE_C2P_RESOLVER_TRAFFIC_DIRECTOR_URI.
	XDSC2PURI = os.Getenv("GRPC_TEST_ONLY_GOOGLE_C2P_RESOLVER_TRAFFIC_DIRECTOR_URI")
)

// Parts of xDS that are on unless switched off.
var (
	// XDSDualstackEndpoints says whether endpoints have more than one address (gRFC A61).
	// GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS, true unless "false".
	XDSDualstackEndpoints = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS"), true)

	// XDSORCAToLRS says whether clusters choose which backend metrics go into load reports
	// (gRFC A85); otherwise all named ones do (gRFC A64).
	// GRPC_EXPERIMENTAL_XDS_ORCA_LRS_PROPAGATION, true unless "false".
	XDSORCAToLRS = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_ORCA_LRS_PROPAGATION"), true)

	// XDSEndpointHashKeyCompat says whether the hash key in the metadata of endpoints is ignored (gRFC
	// A76). GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT, false unless "true".
	XDSEndpointHashKeyCompat = boolean(os.Getenv("GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT"), false)

	// XDSPanicRecovery says whether a panic while a resource is parsed makes that resource
	// invalid instead of ending the program.
	// GRPC_GO_EXPERIMENTAL_XDS_RESOURCE_PANIC_RECOVERY, true unless "false".
	XDSPanicRecovery = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_XDS_RESOURCE_PANIC_RECOVERY"), true)
)

// Parts of xDS that are off unless switched on.
var (
	// XDSCallCreds says whether the bootstrap may name call credentials (gRFC A97).
	// GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS, false unless "true".
	XDSCallCreds = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS"), false)

	// XDSSystemRootCerts says whether clusters may ask for the system's roots (gRFC A82).
	// GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS, false unless "true".
	XDSSystemRootCerts = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS"), false)

	// XDSHTTPConnect says whether clusters may ask for HTTP CONNECT proxies (gRFC A86).
	// GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT, false unless "true".
	XDSHTTPConnect = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT"), false)

	// XDSSNI says whether clusters choose the server name of TLS (gRFC A101).
	// GRPC_EXPERIMENTAL_XDS_SNI, false unless "true".
	XDSSNI = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_SNI"), false)

	// XDSGCPAuthFilter says whether the HTTP filter for GCP authentication is known (gRFC A83).
	// GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER, false unless "true".
	XDSGCPAuthFilter = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER"), false)

	// XDSAuthorityRewrite says whether routes may rewrite the authority (gRFC A81).
	// GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE, false unless "true".
	XDSAuthorityRewrite = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE"), false)

	// XDSDataErrorHandling says whether errors in data and deleted resources are handled as gRFC A88 says:
	// the resources in use stay in use unless server feature "fail_on_data_errors" is set. Otherwise gRFC
	// A53 applies. GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING, false unless "true".
	XDSDataErrorHandling = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING"), false)

	// XDSStatefulSession says whether the HTTP filter for stateful session affinity is known
	// (gRFC A55, A60). GRPC_EXPERIMENTAL_XDS_ENABLE_OVERRIDE_HOST, false unless "true".
	XDSStatefulSession = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_ENABLE_OVERRIDE_HOST"), false)

	// XDSExtProcOnClient says whether the HTTP filter is known that lets another server process the RPCs of
	// clients (gRFC A93, A102). GRPC_EXPERIMENTAL_XDS_EXT_PROC_ON_CLIENT, false unless "true".
	XDSExtProcOnClient = boolean(os.Getenv("GRPC_EXPERIMENTAL_XDS_EXT_PROC_ON_CLIENT"), false)
)
