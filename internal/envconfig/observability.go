// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// These variables configure gcp/observability, a module beside this one that finds these names here (see
// internal/siblings.go). This module has no use for them itself.
var (
	// ObservabilityConfig is the configuration in JSON. GRPC_GCP_OBSERVABILITY_CONFIG, none
	// unless it is set.
	ObservabilityConfig = os.Getenv("GRPC_GCP_OBSERVABILITY_CONFIG")
	// ObservabilityConfigFile is a file that has the configuration. It takes precedence.
	// GRPC_GCP_OBSERVABILITY_CONFIG_FILE, none unless it is set.
	ObservabilityConfigFile = os.Getenv("GRPC_GCP_OBSERVABILITY_CONFIG_FILE")
)
