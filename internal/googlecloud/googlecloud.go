// SPDX-License-Identifier: Apache-2.0

// Package googlecloud reports whether the program runs on a machine of Google Cloud's.
package googlecloud

import (
	"strings"
	"sync"

	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("googlecloud")

// Here reports whether the machine is one of Google Cloud's, by the product name in its
// firmware. Only the first call looks it up.
var Here = sync.OnceValue(func() bool {
	name, err := productName()
	if err != nil {
		logger.Warningf("googlecloud: can't tell the platform: %v", err)
	}
	return isGoogleProduct(name)
})

// isGoogleProduct reports whether a machine's product name is one of Google Cloud's.
func isGoogleProduct(name string) bool {
	switch strings.TrimSpace(name) {
	case "Google", "Google Compute Engine":
		return true
	}
	return false
}
