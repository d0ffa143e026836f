// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// random is n bytes that a packet at a wrong place would show in.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}
