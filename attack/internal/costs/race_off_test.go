// SPDX-License-Identifier: Apache-2.0

//go:build !race

package costs

const (
	slowness = 1
	room     = MaxSent
)
