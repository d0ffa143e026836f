// SPDX-License-Identifier: Apache-2.0

//go:build (unix && !linux) || (windows && !race)

package readyreader

// vectorAbilities are the abilities that a rawSocket has on some systems only: here none.
const vectorAbilities Ability = 0

// Read implements Layer.
func (s *rawSocket) Read(p []byte) (int, error) { return s.conn.Read(p) }
