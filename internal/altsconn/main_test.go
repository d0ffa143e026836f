// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }
