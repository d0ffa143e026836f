// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// CSM is what the environment says about a workload of Cloud Service Mesh. Empty values are not set.
type CSM struct {
	// WorkloadName is CSM_WORKLOAD_NAME.
	WorkloadName string
	// CanonicalService is CSM_CANONICAL_SERVICE_NAME.
	CanonicalService string
	// MeshID is CSM_MESH_ID.
	MeshID string
}

// ReadCSM reads the environment when it is called: package csm calls it once, in main, where a program may
// have set the variables.
func ReadCSM() CSM {
	return CSM{
		WorkloadName:     os.Getenv("CSM_WORKLOAD_NAME"),
		CanonicalService: os.Getenv("CSM_CANONICAL_SERVICE_NAME"),
		MeshID:           os.Getenv("CSM_MESH_ID"),
	}
}
