// SPDX-License-Identifier: Apache-2.0

package nettrace

import (
	"strings"
	"sync"
)

// families is the set of families that have traces. Package trace keeps each family for ever, and a
// server's clients can make up any number of services. There are therefore at most maxFamilies
// families. Services beyond that number, and those with names longer than longestFamily, share the
// family otherFamily.
type families struct {
	mu    sync.Mutex
	known map[string]struct{}
}

const (
	maxFamilies   = 1000
	longestFamily = 256 // bytes
	otherFamily   = "other"
)

// of returns the family of a method, "/package.Service/Method": the name of its service without
// the package, or otherFamily.
func (f *families) of(method string) string {
	name := service(method)
	if len(name) > longestFamily {
		return otherFamily
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.known[name]; ok {
		return name
	}
	if len(f.known) == maxFamilies {
		return otherFamily
	}
	if f.known == nil {
		f.known = make(map[string]struct{})
	}
	name = strings.Clone(name)
	f.known[name] = struct{}{}
	return name
}

// service returns the name of a method's service, without its package.
func service(method string) string {
	name := strings.TrimPrefix(method, "/")
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}
