// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"errors"
	"net"
)

// listen fails: two processes can't listen on one address here.
func listen(string) (net.Listener, error) { return nil, errors.ErrUnsupported }
