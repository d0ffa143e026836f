// SPDX-License-Identifier: Apache-2.0

//go:build race

package costs

// Under the race detector all takes many times longer, pools drop what they get now and then, and scripts
// are shorter.
const (
	slowness = 20
	room     = MaxSent / 64
)
