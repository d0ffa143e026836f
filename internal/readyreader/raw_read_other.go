// SPDX-License-Identifier: Apache-2.0

//go:build (unix && !linux) || (windows && !race)

package readyreader

// vectorAbilities are those of a rawSocket beside the others: here none.
const vectorAbilities Ability = 0

// Read implements Layer.
func (s *rawSocket) Read(p []byte) (int, error) { return s.conn.Read(p) }
