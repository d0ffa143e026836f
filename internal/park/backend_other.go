// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package park

const (
	supported = false
	takes     = false
)

func newBackend() (backend, error) { return nil, ErrUnsupported }
