// SPDX-License-Identifier: Apache-2.0

package envconfig

import (
	"os"
	"strings"
)

// ServerGoroutineMethod says whether the goroutine of a handler, and those that it starts, have the label
// grpc.method, the full name of the RPC's method, in profiles. GRPC_GO_SERVER_GOROUTINE_LABELS, a
// comma-separated list of label=true or label=false, or all; none by default. There is this label only.
var ServerGoroutineMethod = hasLabel(os.Getenv("GRPC_GO_SERVER_GOROUTINE_LABELS"), "grpc.method")

// hasLabel reports whether a list switches a label on. The last entry that names it counts.
func hasLabel(list, label string) bool {
	on := false
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case strings.EqualFold(entry, "all"):
			on = true
		case name == label:
			on = boolean(value, false)
		}
	}
	return on
}
