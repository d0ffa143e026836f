// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"sync"

	"google.golang.org/grpc/internal/envconfig"
)

// fromEnvironment returns the filter in GRPC_BINARY_LOG_FILTER, or nil if there is none.
var fromEnvironment = sync.OnceValue(func() *Filter {
	if envconfig.BinaryLogFilter == "" {
		return nil
	}
	f, err := parseFilter(envconfig.BinaryLogFilter)
	if err != nil {
		logger.Errorf("GRPC_BINARY_LOG_FILTER: nothing will be logged: %v", err)
		return nil
	}
	return f
})
