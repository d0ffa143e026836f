// SPDX-License-Identifier: Apache-2.0

package envconfig

import (
	"os"
	"testing"
)

// TestXDSDefaults: these are what the published module has where the environment says nothing.
func TestXDSDefaults(t *testing.T) {
	for name, tt := range map[string]struct{ got, want bool }{
		"GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS":        {XDSDualstackEndpoints, true},
		"GRPC_EXPERIMENTAL_XDS_ORCA_LRS_PROPAGATION":       {XDSORCAToLRS, true},
		"GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS":          {XDSSystemRootCerts, false},
		"GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE":                {XDSSPIFFE, false},
		"GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT":               {XDSHTTPConnect, false},
		"GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS":       {XDSCallCreds, false},
		"GRPC_EXPERIMENTAL_XDS_SNI":                        {XDSSNI, false},
		"GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER":  {XDSGCPAuthFilter, false},
		"GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE":          {XDSAuthorityRewrite, false},
		"GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT":       {XDSEndpointHashKeyCompat, false},
		"GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY": {RingHashHeader, true},
		"GRPC_GO_EXPERIMENTAL_XDS_RESOURCE_PANIC_RECOVERY": {XDSPanicRecovery, true},
		"GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING":        {XDSDataErrorHandling, false},
		"GRPC_EXPERIMENTAL_XDS_ENABLE_OVERRIDE_HOST":       {XDSStatefulSession, false},
	} {
		if _, set := os.LookupEnv(name); !set && tt.got != tt.want {
			t.Errorf("%s: %t", name, tt.got)
		}
	}
}
