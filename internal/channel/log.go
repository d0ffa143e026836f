// SPDX-License-Identifier: Apache-2.0

package channel

import "google.golang.org/grpc/grpclog"

var logger = grpclog.Component("core")
