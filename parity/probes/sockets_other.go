// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "google.golang.org/grpc/parity/internal/probe"

// socketProbes are there for Linux only: the numbers of its options are in them.
func socketProbes() []probe.Probe { return nil }
