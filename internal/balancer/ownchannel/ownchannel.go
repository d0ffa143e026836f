// SPDX-License-Identifier: Apache-2.0

// Package ownchannel is for balancers that have a channel of their own, to a server whom they
// ask what to do.
package ownchannel

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Options returns how such a channel connects: as the balancer's own channel does, by its dialer
// and under its name. In channelz it is a child of that. bundle, if it is not nil, has its credentials; else they are those of the
// balancer's channel, and there are none where that has none.
func Options(build balancer.BuildOptions, bundle credentials.Bundle) []grpc.DialOption {
	var opts []grpc.DialOption
	switch {
	case bundle != nil:
		opts = append(opts, grpc.WithCredentialsBundle(bundle))
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
	if build.CustomUserAgent != "" {
		opts = append(opts, grpc.WithUserAgent(build.CustomUserAgent))
	}
	return opts
}
