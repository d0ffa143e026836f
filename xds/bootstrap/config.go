// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
)

func nothing() {}

// unmarshal decodes config into to. It treats a missing configuration as an empty one.
func unmarshal(config json.RawMessage, to any) error {
	if len(config) == 0 {
		return nil
	}
	return json.Unmarshal(config, to)
}
