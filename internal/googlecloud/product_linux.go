// SPDX-License-Identifier: Apache-2.0

package googlecloud

import (
	"errors"
	"io/fs"
	"os"
)

// productNameFile has the product name from the machine's DMI table.
const productNameFile = "/sys/class/dmi/id/product_name"

func productName() (string, error) {
	name, err := os.ReadFile(productNameFile)
	if errors.Is(err, fs.ErrNotExist) { // a machine without such a table is not Google's
		err = nil
	}
	return string(name), err
}
