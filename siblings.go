// SPDX-License-Identifier: Apache-2.0

package grpc

import "google.golang.org/grpc/internal"

func init() {
	internal.JoinDialOptions = joinDialOptions
}

// joinDialOptions returns options as one. It is for modules beside this one; see
// internal/siblings.go.
func joinDialOptions(opts ...DialOption) DialOption {
	return dialOption(func(o *dialOptions) {
		for _, opt := range opts {
			o.take(opt)
		}
	})
}
