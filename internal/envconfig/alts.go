// SPDX-License-Identifier: Apache-2.0

package envconfig

import "os"

// ALTSLowWater lets a read of an ALTS connection that waits for the rest of a large
// record sleep until all of it has arrived (SO_RCVLOWAT, on Linux): fewer wake-ups. Over
// loopback that makes no difference, as a record is there at once.
// GRPC_GO_EXPERIMENTAL_ALTS_LOW_WATER_MARK, false unless "true".
var ALTSLowWater = boolean(os.Getenv("GRPC_GO_EXPERIMENTAL_ALTS_LOW_WATER_MARK"), false)
