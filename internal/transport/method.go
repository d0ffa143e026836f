// SPDX-License-Identifier: Apache-2.0

package transport

// Method is one that a server's calls are for. Those that the server knows are its own
// implementations, which it gets back from the calls. It is immutable.
type Method interface {
	// Path is the method's :path.
	Path() string
}

// unknownMethod is the :path of a method that the server does not know.
type unknownMethod string

// Path implements Method.
func (m unknownMethod) Path() string { return string(m) }
