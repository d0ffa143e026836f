// SPDX-License-Identifier: Apache-2.0

// Package buildoptions has the policies of a channel keep what they are built with once, and not
// each of them a copy: a tree of xDS policies has hundreds.
package buildoptions

import (
	"reflect"

	"google.golang.org/grpc/balancer"
)

// Owner is a ClientConn that knows what its balancers are built with.
type Owner interface {
	BuildOptions() balancer.BuildOptions
}

// Kept is what a policy keeps of them: nothing where its ClientConn has the same.
type Kept struct{ own *balancer.BuildOptions }

// Keep is called with what a policy is built with.
func Keep(cc balancer.ClientConn, opts balancer.BuildOptions) Kept {
	if o, ok := cc.(Owner); ok && same(o.BuildOptions(), opts) {
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

// same reports whether they are the same for sure: a policy may give its child others. Of dialers
// it can't be told.
func same(a, b balancer.BuildOptions) bool {
	if a.Dialer != nil || b.Dialer != nil {
		return false
	}
	return equal(a.DialCreds, b.DialCreds) && equal(a.CredsBundle, b.CredsBundle) && equal(a.ChannelzParent, b.ChannelzParent) &&
		a.Authority == b.Authority && a.CustomUserAgent == b.CustomUserAgent && a.Target == b.Target
}

// equal is false, and does not panic, for what can't be compared.
func equal(a, b any) bool {
	return a == nil && b == nil || a != nil && b != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}
