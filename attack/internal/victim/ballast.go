// SPDX-License-Identifier: Apache-2.0

//go:build !published

package victim

import "google.golang.org/grpc/experimental/footprint"

// ballast is what counts as live without taking memory, in bytes.
func ballast() int64 { return footprint.Read().Ballast }
