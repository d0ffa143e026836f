// SPDX-License-Identifier: Apache-2.0

// Package compressornames holds the names of the registered compressors, as the
// transport needs them for grpc-accept-encoding. It is apart from encoding so that
// nothing else comes with it.
package compressornames

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// set is immutable.
type set struct {
	names  []string
	joined string
}

var (
	mu      sync.Mutex // held by Add
	current atomic.Pointer[set]
)

// Add adds a name, if it is not there yet. "identity" is never added: every peer
// accepts it.
func Add(name string) {
	mu.Lock()
	defer mu.Unlock()
	names := List()
	if name == "identity" || slices.Contains(names, name) {
		return
	}
	names = append(slices.Clip(names), name)
	current.Store(&set{names: names, joined: strings.Join(names, ",")})
}

// List returns the names in the order of their registration. It must not be changed.
func List() []string {
	if s := current.Load(); s != nil {
		return s.names
	}
	return nil
}

// AcceptEncoding returns the value of grpc-accept-encoding: all names with commas,
// empty if there are none. It does not allocate.
func AcceptEncoding() string {
	if s := current.Load(); s != nil {
		return s.joined
	}
	return ""
}
