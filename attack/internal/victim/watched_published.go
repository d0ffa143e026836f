// SPDX-License-Identifier: Apache-2.0

//go:build published

package victim

import "google.golang.org/grpc"

// watchedOptions are none, as the published module has no such packages.
func watchedOptions() []grpc.ServerOption { return nil }
