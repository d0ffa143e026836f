// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestEach(t *testing.T) {
	var got []string
	n := Each(func(c *Choices) bool {
		a := c.IntN(3)
		for range a {
			c.IntN(2)
		}
		got = append(got, fmt.Sprint(c.Made()))
		return true
	})
	want := []string{"[0]", "[1 0]", "[1 1]", "[2 0 0]", "[2 0 1]", "[2 1 0]", "[2 1 1]"}
	if n != len(want) || !slices.Equal(got, want) {
		t.Errorf("%d runs: %v", n, got)
	}
	if n := Each(func(c *Choices) bool { c.IntN(9); return false }); n != 1 {
		t.Errorf("%d runs after the first said no", n)
	}
}
