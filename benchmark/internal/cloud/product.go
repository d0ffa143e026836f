// SPDX-License-Identifier: Apache-2.0

package cloud

// productName is the file where the name is found.
const productName = "/sys/class/dmi/id/product_name"
