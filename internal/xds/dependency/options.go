// SPDX-License-Identifier: Apache-2.0

package dependency

import "google.golang.org/grpc/resolver"

// Watcher receives Configs.
type Watcher interface {
	// Update delivers a Config, or an error, after which the routes of the Config before must no longer be used. With an
	// error, the Config has the clusters that are subscribed to, for the RPCs that hold them; until all of these are known
	// it is the Config before, or nil. Calls come in order, one at a time. A slow call delays only the next one.
	Update(*Config, error)
}

// Options are the options of New.
type Options struct {
	// Listener is the name of the Listener resource.
	Listener string
	// Authority is the authority by which the virtual host is chosen.
	Authority string
	// Watcher receives the Configs.
	Watcher Watcher
	// Build has the options for the resolvers of logical DNS clusters.
	Build resolver.BuildOptions
}
