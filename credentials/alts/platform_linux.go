// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"os"

	"google.golang.org/grpc/grpclog"
)

// productNameFile holds the product name of the machine's DMI table.
const productNameFile = "/sys/class/dmi/id/product_name"

func onGoogleCloud() bool {
	name, err := os.ReadFile(productNameFile)
	if err != nil && !os.IsNotExist(err) {
		grpclog.Component("alts").Warningf("alts: can't tell the platform: %v", err)
	}
	return isGoogleProduct(string(name))
}
