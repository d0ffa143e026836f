// SPDX-License-Identifier: Apache-2.0

package googledirectpath

import (
	"errors"
	"fmt"
	"sync"
)

// defaultUniverse is the domain of Google's services unless SetUniverseDomain sets another
// one.
const defaultUniverse = "googleapis.com"

var universe struct {
	sync.Mutex
	domain string // "" until SetUniverseDomain is called
}

// SetUniverseDomain sets the universe domain, the domain of the Google Cloud universe whose
// services the program uses. The default is googleapis.com. It must be called before the
// program makes the first channel whose target this package resolves. It fails if the domain
// is empty, or if a different domain has already been set or used.
func SetUniverseDomain(domain string) error {
	universe.Lock()
	defer universe.Unlock()
	if domain == "" {
		return errors.New("universe domain cannot be empty")
	}
	if universe.domain != "" && universe.domain != domain {
		return fmt.Errorf("universe domain cannot be set to %s, already set to different value: %s", domain, universe.domain)
	}
	universe.domain = domain
	return nil
}

// currentUniverse returns the domain and fixes it: once it has been used, it can't change.
func currentUniverse() string {
	universe.Lock()
	defer universe.Unlock()
	if universe.domain == "" {
		universe.domain = defaultUniverse
	}
	return universe.domain
}
