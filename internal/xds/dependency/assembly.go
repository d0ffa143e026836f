// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/internal/xds/resource"
)

// maxDepth limits how deeply aggregate clusters may be nested (A37).
const maxDepth = 16

// assembly is one attempt to assemble a Config. It goes from resource to resource, and starts
// the watches that are missing. The agenda's mutex must be held.
type assembly struct {
	*sources
	missing bool         // nothing is known yet about some resource
	fresh   []*nameWatch // to be started when the mutex is not held
}

// config returns nil if nothing is known yet about the listener or the routes. An error is
// about one of these. The Config beside it has the clusters that are subscribed to: RPCs that hold them go on (A74).
func (a *assembly) config() (*Config, error) {
	c, err := a.whole()
	if err != nil {
		c = &Config{Clusters: make(map[string]*Cluster)}
		a.addSubscribed(c)
	}
	return c, err
}

// whole is config without what goes on after an error.
func (a *assembly) whole() (*Config, error) {
	l := a.listener
	switch {
	case l.err != nil:
		return nil, l.err
	case !l.has:
		a.missing = true
		return nil, nil
	case l.value.API == nil:
		return nil, fmt.Errorf("the resource %q of type Listener has no api_listener: it is for servers", l.name)
	}
	routes, err := a.routeConfig(l.value.API)
	if err != nil || routes == nil {
		return nil, err
	}
	host := routes.VirtualHost(a.options.Authority)
	if host == nil {
		return nil, fmt.Errorf("RouteConfiguration %q has no virtual host for %q", routes.Name, a.options.Authority)
	}
	c := &Config{Listener: l.value, Routes: routes, Host: host, Clusters: make(map[string]*Cluster)}
	a.addClusters(c)
	return c, nil
}

// routeConfig returns nil if nothing is known yet about the routes.
func (a *assembly) routeConfig(api *resource.HTTP) (*resource.RouteConfig, error) {
	if api.Routes != nil {
		return api.Routes, nil
	}
	if a.routes == nil || a.routes.name != api.RouteName {
		a.routes.stopLocked()
		a.routes = startLocked(&a.agenda, a.client.Client, a.client.Routes, api.RouteName)
	}
	w := a.routes
	w.round = a.round
	if w.err != nil {
		return nil, w.err
	}
	if !w.has {
		a.missing = true
		return nil, nil
	}
	return w.value, nil
}

func (a *assembly) addClusters(c *Config) {
	for i := range c.Host.Routes {
		for j := range c.Host.Routes[i].Clusters {
			a.addRoot(c, c.Host.Routes[i].Clusters[j].Name)
		}
	}
	a.addSubscribed(c)
}

func (a *assembly) addSubscribed(c *Config) {
	for name := range a.subscribed {
		a.addRoot(c, name)
	}
}

// addRoot adds a cluster to which RPCs go, with all clusters that it consists of.
func (a *assembly) addRoot(c *Config, name string) {
	if _, ok := c.Clusters[name]; ok {
		return
	}
	w := a.cluster(name)
	if !w.has || w.value.Type != resource.Aggregate {
		a.addLeaf(c, w)
		return
	}
	walk := &treeWalk{assembly: a, config: c, seen: make(map[string]bool)}
	walk.visit(w, 1)
	a.addAggregate(c, w, walk)
}

// cluster returns the watch of a cluster, and starts it if there is none.
func (a *assembly) cluster(name string) *clusterWatch {
	w := a.clusters[name]
	if w == nil {
		w = &clusterWatch{watch: startLocked(&a.agenda, a.client.Client, a.client.Clusters, name)}
		a.clusters[name] = w
	}
	w.round = a.round
	if !w.known() {
		a.missing = true
	}
	return w
}

var (
	errDeep     = fmt.Errorf("aggregate clusters lie more than %d deep", maxDepth)
	errNoLeaves = errors.New("the aggregate cluster consists of no cluster with endpoints")
)

// addAggregate adds an aggregate cluster to which RPCs go.
func (a *assembly) addAggregate(c *Config, w *clusterWatch, walk *treeWalk) {
	made := &Cluster{Resource: w.value, Leaves: walk.leaves}
	if walk.deep {
		made = &Cluster{Err: clusterError(w.name, errDeep)}
	} else if len(walk.leaves) == 0 {
		made = &Cluster{Err: clusterError(w.name, errNoLeaves)}
	}
	if old := w.made; old != nil && old.Resource == made.Resource && sameText(old.Err, made.Err) && slices.Equal(old.Leaves, made.Leaves) {
		made = old
	}
	w.made, c.Clusters[w.name] = made, made
}

// treeWalk finds the leaves of an aggregate cluster, depth first. It visits each cluster only
// once, so cycles do no harm.
type treeWalk struct {
	*assembly
	config *Config
	seen   map[string]bool
	leaves []string
	deep   bool
}

func (t *treeWalk) visit(w *clusterWatch, depth int) {
	t.seen[w.name] = true
	if depth > maxDepth {
		t.deep = true
		return
	}
	if !w.has || w.value.Type != resource.Aggregate {
		t.addLeaf(t.config, w)
		t.leaves = append(t.leaves, w.name)
		return
	}
	for _, name := range w.value.Children {
		if !t.seen[name] {
			t.visit(t.cluster(name), depth+1)
		}
	}
}

// addLeaf adds a cluster that is not an aggregate, or whose type is not known.
func (a *assembly) addLeaf(c *Config, w *clusterWatch) {
	if _, ok := c.Clusters[w.name]; ok || !w.known() {
		return
	}
	made := &Cluster{Resource: w.value}
	switch {
	case w.err != nil:
		made = &Cluster{Err: w.err} // the error names the cluster
	case w.value.Type == resource.EDS:
		a.addEndpoints(made)
	case w.value.Type == resource.LogicalDNS:
		a.addName(made)
	}
	if old := w.made; old != nil && old.Resource == made.Resource && old.Endpoints == made.Endpoints && old.Leaves == nil &&
		sameText(old.Err, made.Err) && sameText(old.Note, made.Note) {
		made = old
	}
	w.made, c.Clusters[w.name] = made, made
}

func (a *assembly) addEndpoints(made *Cluster) {
	name := made.Resource.EDSName()
	w := a.endpoints[name]
	if w == nil {
		w = startLocked(&a.agenda, a.client.Client, a.client.Endpoints, name)
		a.endpoints[name] = w
	}
	w.round = a.round
	if !w.known() {
		a.missing = true
	}
	made.Endpoints, made.Note = w.value, w.err
}

func (a *assembly) addName(made *Cluster) {
	n := a.names[made.Resource.DNSHostname]
	if n == nil {
		n = &nameWatch{agenda: &a.agenda, name: made.Resource.DNSHostname}
		a.names[n.name] = n
		a.fresh = append(a.fresh, n)
	}
	n.round = a.round
	if !n.known() {
		a.missing = true
	}
	if made.Endpoints = n.endpoints; made.Endpoints == nil {
		made.Note = n.err
	}
}

func clusterError(name string, err error) error { return fmt.Errorf("cluster %q: %w", name, err) }

func sameText(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}
