// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/resolver"
)

// child is one of the policies, and its ClientConn. It belongs to the events of the parent.
type child struct {
	balancer.ClientConn
	parent *policy
	name   string
	policy *gracefulswitch.Balancer
	gone   bool

	state balancer.State
	// failed says that it has reported TransientFailure since it was Ready or Idle.
	failed    bool
	failover  *time.Timer // runs while it is given time to connect; nil: it does not
	retention *time.Timer // runs while it is not in use; nil: it is

	ignoreReresolution atomic.Bool
}

func newChild(p *policy, name string) *child {
	c := &child{ClientConn: p.cc, parent: p, name: name}
	c.state = balancer.State{ConnectivityState: connectivity.Connecting, Picker: base.NewErrPicker(balancer.ErrNoSubConnAvailable)}
	c.policy = gracefulswitch.New(c, p.opts.Of(p.cc))
	c.startFailover()
	return c
}

// update gives the child its configuration and endpoints.
func (c *child) update() error {
	p := c.parent
	config := p.config.Children[c.name]
	c.ignoreReresolution.Store(config.IgnoreReresolution)
	own := p.state
	own.Endpoints, own.Addresses = p.endpoints[c.name], nil
	for _, e := range own.Endpoints {
		own.Addresses = append(own.Addresses, e.Addresses...)
	}
	return c.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: own, BalancerConfig: config.Policy})
}

// BuildOptions implements buildoptions.Owner.
func (c *child) BuildOptions() balancer.BuildOptions { return c.parent.opts.Of(c.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	c.parent.later(func() {
		if c.gone {
			return
		}
		c.take(s)
		c.parent.choose()
	})
}

// take keeps the state, and starts or stops the time to connect (A56).
func (c *child) take(s balancer.State) {
	before := c.state.ConnectivityState
	c.state = s
	switch s.ConnectivityState {
	case connectivity.Ready, connectivity.Idle:
		c.failed = false
		c.stopFailover()
	case connectivity.TransientFailure:
		c.failed = true
		c.stopFailover()
	case connectivity.Connecting:
		if before != connectivity.Connecting && !c.failed {
			c.startFailover()
		}
	}
}

// ResolveNow implements balancer.ClientConn.
func (c *child) ResolveNow(o resolver.ResolveNowOptions) {
	if !c.ignoreReresolution.Load() {
		c.ClientConn.ResolveNow(o)
	}
}

func (c *child) startFailover() {
	if c.failover != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(failover, func() {
		c.parent.later(func() {
			if c.failover == t {
				c.failover = nil
				c.parent.choose()
			}
		})
	})
	c.failover = t
}

func (c *child) stopFailover() {
	if c.failover != nil {
		c.failover.Stop()
		c.failover = nil
	}
}

// deactivate keeps the child for a while.
func (c *child) deactivate() {
	if c.retention != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(retention, func() {
		c.parent.later(func() {
			if c.retention == t {
				c.parent.remove(c)
			}
		})
	})
	c.retention = t
}

func (c *child) reactivate() {
	if c.retention != nil {
		c.retention.Stop()
		c.retention = nil
	}
}

func (c *child) close() {
	c.gone = true
	c.stopFailover()
	c.reactivate()
	c.policy.Close()
}
