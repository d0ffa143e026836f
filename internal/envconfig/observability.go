// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// What gcp/observability is configured by, a module beside this one that finds these names
// here (see internal/siblings.go). The module itself has no use for them.
var (
	// ObservabilityConfig is the configuration in JSON. GRPC_GCP_OBSERVABILITY_CONFIG, none
	// unless it is set.
	ObservabilityConfig = os.Getenv("GRPC_GCP_OBSERVABILITY_CONFIG")
	// ObservabilityConfigFile is a file that has it, which comes first.
	// GRPC_GCP_OBSERVABILITY_CONFIG_FILE, none unless it is set.
	ObservabilityConfigFile = os.Getenv("GRPC_GCP_OBSERVABILITY_CONFIG_FILE")
)
