// SPDX-License-Identifier: Apache-2.0

package nettrace

import (
	"strings"
	"sync"
)

// families are those that there are traces of. Package trace keeps each for ever, and clients of a
// server can make up any number of services: so there are so many at most, and those after them, and
// those with longer names, are one.
type families struct {
	mu    sync.Mutex
	known map[string]struct{}
}

const (
	maxFamilies   = 1000
	longestFamily = 256 // bytes
	otherFamily   = "other"
)

// of returns the family of a method, "/package.Service/Method": its service without the package.
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

// service is the service of a method, without its package.
func service(method string) string {
	name := strings.TrimPrefix(method, "/")
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}
