// SPDX-License-Identifier: Apache-2.0

package googlecloud

import "golang.org/x/sys/windows/registry"

// biosKey is the registry key with what the firmware says of the machine.
const biosKey = `HARDWARE\DESCRIPTION\System\BIOS`

func productName() (string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, biosKey, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer key.Close()
	name, _, err := key.GetStringValue("SystemProductName")
	return name, err
}
