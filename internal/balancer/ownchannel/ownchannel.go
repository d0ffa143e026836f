// SPDX-License-Identifier: Apache-2.0

// Package ownchannel is for balancers with a channel of their own, to a server that tells them how
// to balance.
package ownchannel

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Options returns the dial options of such a channel. It has the dialer of the channel that the balancer
// belongs to, and is that channel's child in channelz. Its credentials are those of bundle or, if bundle
// is nil, of the balancer's channel, which has a bundle or credentials. If that has none either, the channel is insecure.
func Options(build balancer.BuildOptions, bundle credentials.Bundle) []grpc.DialOption {
	var opts []grpc.DialOption
	switch {
	case bundle != nil:
		opts = append(opts, grpc.WithCredentialsBundle(bundle))
	case build.CredsBundle != nil:
		opts = append(opts, grpc.WithCredentialsBundle(build.CredsBundle))
	case build.DialCreds != nil:
		opts = append(opts, grpc.WithTransportCredentials(build.DialCreds.Clone()))
	default:
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if build.Dialer != nil {
		opts = append(opts, grpc.WithContextDialer(build.Dialer))
	}
	if build.ChannelzParent != nil {
		opts = append(opts, grpc.WithChannelzParentID(build.ChannelzParent))
	}
	return opts
}
