// SPDX-License-Identifier: Apache-2.0

package grpclb

import "google.golang.org/grpc/grpclog"

var logger = grpclog.Component("grpclb")
