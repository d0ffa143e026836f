// SPDX-License-Identifier: Apache-2.0

// Package channelz has the type of the identifiers of the channelz service (gRFC A14).
// The service itself is in package channelz/service. This module keeps records for it only
// in programs that import that package, or experimental/debugpage.
package channelz

import "google.golang.org/grpc/internal/channelz"

// Identifier identifies a channel, subchannel, server or socket in channelz. Only this
// module makes Identifiers, for example balancer.BuildOptions.ChannelzParent. They are
// safe for concurrent use.
type Identifier = channelz.Identifier
