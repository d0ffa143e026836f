// SPDX-License-Identifier: Apache-2.0

package client

import "time"

// Resource is the state of one watched resource, for CSDS (A40, A88) and for metrics (A78).
type Resource struct {
	TypeURL, Name string
	// Authority is the federation authority if Federated is set.
	Authority string
	Federated bool
	State     State
	// Raw is the serialized resource in use, or nil if there is none. It must not be changed.
	Raw     []byte
	Version string
	Updated time.Time
	// Err says why State is neither Requested nor ACKed.
	Err        error
	ErrVersion string // the version that Err is about
	ErrTime    time.Time
}

// Resources returns the state of all watched resources, in no particular order.
func (c *Client) Resources() []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Resource
	for key, a := range c.authorities {
		for name, e := range a.entries() {
			r := Resource{
				TypeURL: e.kind.url(), Name: name, Authority: key.name, Federated: key.federated, State: e.state,
				Err: e.err, ErrVersion: e.errVersion, ErrTime: e.errTime,
			}
			if e.value != nil {
				r.Raw, r.Version, r.Updated = e.raw, e.version, e.updated
			}
			out = append(out, r)
		}
	}
	return out
}

// Servers reports, by URI, whether each control plane in use is connected. A control plane
// counts as connected from its first stream on, and after a failure from its next response on.
func (c *Client) Servers() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]bool)
	for _, s := range c.servers {
		out[s.config.URI] = s.worked && s.failure == nil
	}
	return out
}
