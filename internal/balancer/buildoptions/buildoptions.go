// SPDX-License-Identifier: Apache-2.0

// Package buildoptions lets the policies of a channel share one copy of their BuildOptions. A tree
// of xDS policies has hundreds of policies.
package buildoptions

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/same"
)

// Owner is a ClientConn that knows the BuildOptions of its balancers.
type Owner interface {
	BuildOptions() balancer.BuildOptions
}

// Kept is a policy's BuildOptions. It holds no copy if the policy's ClientConn has the same ones.
type Kept struct{ own *balancer.BuildOptions }

// Keep returns the Kept of a policy that is built with cc and opts.
func Keep(cc balancer.ClientConn, opts balancer.BuildOptions) Kept {
	if o, ok := cc.(Owner); ok && sameOptions(o.BuildOptions(), opts) {
		return Kept{}
	}
	own := opts
	return Kept{&own}
}

// Of returns the BuildOptions that Keep was called with. cc must be the ClientConn that Keep was
// called with.
func (k Kept) Of(cc balancer.ClientConn) balancer.BuildOptions {
	if k.own != nil {
		return *k.own
	}
	return Of(cc)
}

// Of returns the BuildOptions of a ClientConn's balancers, for a ClientConn that wraps it. They are
// empty if cc is not an Owner.
func Of(cc balancer.ClientConn) balancer.BuildOptions {
	if o, ok := cc.(Owner); ok {
		return o.BuildOptions()
	}
	return balancer.BuildOptions{}
}

// sameOptions reports whether a and b are certainly equal. They may differ, as a policy may build its
// child with other options. Options with a dialer count as different, as functions can't be compared.
func sameOptions(a, b balancer.BuildOptions) bool {
	if a.Dialer != nil || b.Dialer != nil {
		return false
	}
	return same.Value(a.DialCreds, b.DialCreds) && same.Value(a.CredsBundle, b.CredsBundle) && same.Value(a.ChannelzParent, b.ChannelzParent) &&
		a.Authority == b.Authority && a.CustomUserAgent == b.CustomUserAgent && a.Target == b.Target
}
