// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/grpcservice"
	"google.golang.org/grpc/internal/xds/httpfilter"
)

// filter is the filter of a route.
type filter struct {
	config   *Config
	memory   *httpfilter.Memory // may be nil
	channel  httpfilter.Channel
	channels *grpcservice.Channels
}

// keeper keeps a channel open even while there are no RPCs.
type keeper struct{ lease *grpcservice.Lease }

// Close implements io.Closer.
func (k *keeper) Close() error {
	if k.lease == nil {
		return nil
	}
	return k.lease.Close()
}

// Client implements httpfilter.ClientKind.
func (Kind) Client(i httpfilter.Instance) rpcconfig.Interceptor {
	c, ok := i.Config.(*Config)
	if !ok {
		return nil
	}
	if o, ok := i.Override.(*Override); ok {
		c = c.with(o)
	}
	if c.Mode.idle() {
		return nil
	}
	f := &filter{config: c, memory: i.Memory, channels: &grpcservice.Default}
	if i.Channel != nil {
		f.channel = *i.Channel
	}
	if i.Memory != nil {
		httpfilter.Kept(i.Memory, c.Service.Key(), func() *keeper {
			lease, _ := f.channels.Open(c.Service) // if it fails, RPCs will report the error
			return &keeper{lease}
		})
	}
	return f
}
