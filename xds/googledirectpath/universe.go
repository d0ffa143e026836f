// SPDX-License-Identifier: Apache-2.0

package googledirectpath

import (
	"errors"
	"fmt"
	"sync"
)

// defaultUniverse is where Google's services are unless something else is said.
const defaultUniverse = "googleapis.com"

var universe struct {
	sync.Mutex
	domain string // "" until SetUniverseDomain is called
}

// SetUniverseDomain says in which universe of Google Cloud's the services are; it is
// googleapis.com by default. It has to be called before the first channel is made whose target
// this package resolves. It fails if the domain is empty, or if another one is set already.
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

// currentUniverse settles the domain: it does not change once something was made with it.
func currentUniverse() string {
	universe.Lock()
	defer universe.Unlock()
	if universe.domain == "" {
		universe.domain = defaultUniverse
	}
	return universe.domain
}
