// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
)

// Of many connections that are opened at once, more than may linger in doubt, none loses input, also
// behind wrappers that take it first, and all park.
func TestBurst(t *testing.T) {
	if !park.Supported() || runtime.GOOS != "linux" || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("nothing parks")
	}
	for _, k := range Kinds() {
		if k.Name != "reads ahead" && k.Name != "metering" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			places := make([]*place, park.MaxTries+32)
			for i := range places {
				places[i] = newPlace(t, setting{kind: k, network: "tcp"}, false)
			}
			for range 5 {
				var calls sync.WaitGroup
				for _, p := range places {
					calls.Go(func() {
						if err := p.echo(t.Context(), []byte("x")); err != nil {
							t.Error(err)
						}
					})
				}
				calls.Wait()
			}
			places[0].until("all are parked", func() bool { return park.ReadStats().Parked == int64(2*len(places)) })
		})
	}
}
