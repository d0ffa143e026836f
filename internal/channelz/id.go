// SPDX-License-Identifier: Apache-2.0

package channelz

import "fmt"

// Identifier stands for one thing in the registry. *Channel, *Subchannel, *Server and
// *Socket implement it, also when they are nil.
type Identifier interface {
	fmt.Stringer
	channelzIdentifier()
}
