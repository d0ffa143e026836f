// SPDX-License-Identifier: Apache-2.0

package dependency

import "google.golang.org/grpc/resolver"

// Watcher is told what a channel goes by.
type Watcher interface {
	// Update brings a Config; or an error, after which the one before must no longer be used. It
	// is called one call at a time, in order, and holds up the next one only.
	Update(*Config, error)
}

// Options are what a Manager is made of.
type Options struct {
	// Listener is the name of the resource to begin with.
	Listener string
	// Authority chooses among virtual hosts.
	Authority string
	// Watcher is told.
	Watcher Watcher
	// Build is for the resolvers of logical DNS clusters.
	Build resolver.BuildOptions
}
