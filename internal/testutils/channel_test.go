// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"context"
	"errors"
	"testing"
)

func TestChannel(t *testing.T) {
	c := NewChannel()
	c.Send(1)
	if v, err := c.Receive(t.Context()); v != 1 || err != nil {
		t.Errorf("%v, %v; want 1", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
