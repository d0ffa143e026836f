// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// GCEMetadataHost returns the host, and port, of Google Cloud's metadata server, as Google's
// own libraries find it. Like them it looks each time, so that tests can set it.
// GCE_METADATA_HOST, metadata.google.internal unless it is set.
func GCEMetadataHost() string {
	if host := os.Getenv("GCE_METADATA_HOST"); host != "" {
		return host
	}
	return "metadata.google.internal"
}
