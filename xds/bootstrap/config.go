// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
)

func nothing() {}

// unmarshal takes a configuration that isn't there for an empty one.
func unmarshal(config json.RawMessage, to any) error {
	if len(config) == 0 {
		return nil
	}
	return json.Unmarshal(config, to)
}
