// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "strings"

// SplitPath divides a :path of the form "/service/method" at its last slash. ok is false
// where the leading slash is missing or there is no second one; such a request must be
// refused before anything that authorises by name looks at it. A service name may
// contain slashes; either part may be empty.
func SplitPath(path string) (service, method string, ok bool) {
	if path == "" || path[0] != '/' {
		return "", "", false
	}
	last := strings.LastIndexByte(path, '/')
	if last == 0 {
		return "", "", false
	}
	return path[1:last], path[last+1:], true
}
