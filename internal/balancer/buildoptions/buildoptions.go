// SPDX-License-Identifier: Apache-2.0

// Package buildoptions has the policies of a channel keep what they are built with once, and not
// each of them a copy: a tree of xDS policies has hundreds.
package buildoptions

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/same"
)

// Owner is a ClientConn that knows what its balancers are built with.
type Owner interface {
	BuildOptions() balancer.BuildOptions
}

// Kept is what a policy keeps of them: nothing where its ClientConn has the same.
type Kept struct{ own *balancer.BuildOptions }

// Keep is called with what a policy is built with.
func Keep(cc balancer.ClientConn, opts balancer.BuildOptions) Kept {
	if o, ok := cc.(Owner); ok && sameOptions(o.BuildOptions(), opts) {
		return Kept{}
	}
	own := opts
	return Kept{&own}
}

// Of returns what was kept. cc is the ClientConn that Keep was called with.
func (k Kept) Of(cc balancer.ClientConn) balancer.BuildOptions {
	if k.own != nil {
		return *k.own
	}
	return Of(cc)
}

// Of returns what a ClientConn's balancers are built with, for one that stands around it; nothing
// if it does not know.
func Of(cc balancer.ClientConn) balancer.BuildOptions {
	if o, ok := cc.(Owner); ok {
		return o.BuildOptions()
	}
	return balancer.BuildOptions{}
}

// sameOptions reports whether they are the same for sure: a policy may give its child others. Of dialers
// it can't be told.
func sameOptions(a, b balancer.BuildOptions) bool {
	if a.Dialer != nil || b.Dialer != nil {
		return false
	}
	return same.Value(a.DialCreds, b.DialCreds) && same.Value(a.CredsBundle, b.CredsBundle) && same.Value(a.ChannelzParent, b.ChannelzParent) &&
		a.Authority == b.Authority && a.CustomUserAgent == b.CustomUserAgent && a.Target == b.Target
}
