// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"google.golang.org/grpc/grpclog"

	"golang.org/x/sys/windows/registry"
)

// biosKey is where Windows keeps what the firmware says of the machine.
const biosKey = `HARDWARE\DESCRIPTION\System\BIOS`

func onGoogleCloud() bool {
	name, err := productName()
	if err != nil {
		grpclog.Component("alts").Warningf("alts: can't tell the platform: %v", err)
	}
	return isGoogleProduct(name)
}

func productName() (string, error) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, biosKey, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer key.Close()
	name, _, err := key.GetStringValue("SystemProductName")
	return name, err
}
