// SPDX-License-Identifier: Apache-2.0

package transport

// Method is a method that calls of a server are for. If the server knows the method, it is the server's own
// implementation, which the server gets back from the call. It is immutable.
type Method interface {
	// Path is the method's :path.
	Path() string
}

// unknownMethod is the :path of a method that the server does not know.
type unknownMethod string

// Path implements Method.
func (m unknownMethod) Path() string { return string(m) }
