// SPDX-License-Identifier: Apache-2.0

package workers

import "slices"

// Impl is an implementation to measure.
type Impl struct {
	Name string // as it was asked for
	Path string // of its worker
	Env  []string
	// Server is the implementation of the server, nil where it is the same.
	Server *Impl
}

// WithEnv adds to the environment of both sides.
func (i Impl) WithEnv(env string) Impl {
	i.Env = append(slices.Clip(i.Env), env)
	if i.Server != nil {
		server := i.Server.WithEnv(env)
		i.Server = &server
	}
	return i
}
