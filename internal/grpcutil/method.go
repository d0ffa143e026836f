// SPDX-License-Identifier: Apache-2.0

// Package grpcutil has what gcp/observability, a module beside this one, imports of it; see
// internal/siblings.go.
package grpcutil

import (
	"fmt"
	"strings"
)

// ParseMethod splits a method's full name, "/package.Service/Method".
func ParseMethod(methodName string) (service, method string, err error) {
	name, ok := strings.CutPrefix(methodName, "/")
	if !ok {
		return "", "", fmt.Errorf("invalid method name: should start with /: %q", methodName)
	}
	slash := strings.LastIndexByte(name, '/')
	if slash < 0 {
		return "", "", fmt.Errorf("invalid method name: suffix /method is missing: %q", methodName)
	}
	return name[:slash], name[slash+1:], nil
}
