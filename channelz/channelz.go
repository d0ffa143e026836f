// SPDX-License-Identifier: Apache-2.0

// Package channelz names what the channelz service can be asked about (gRFC A14).
// The service itself is in channelz/service; importing that package is what makes
// this module keep records at all.
package channelz

import "google.golang.org/grpc/internal/channelz"

// Identifier stands for one channel, subchannel, server or socket in channelz.
// Values come from this module only, for example as
// balancer.BuildOptions.ChannelzParent, and are safe to use from several goroutines.
type Identifier = channelz.Identifier
