// SPDX-License-Identifier: Apache-2.0

package client

import "time"

// Resource is what is known of a resource that is watched, for CSDS (A40, A88) and for metrics
// (A78).
type Resource struct {
	TypeURL, Name string
	// Authority is that of federation, if Federated is set.
	Authority string
	Federated bool
	State     State
	// Raw is the resource in use, serialized; nil if there is none. It must not be changed.
	Raw     []byte
	Version string
	Updated time.Time
	// Err is why the State is none of Requested and ACKed.
	Err        error
	ErrVersion string // of the response that was wrong
	ErrTime    time.Time
}

// Resources returns what is known, in no order.
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

// Servers returns whether each control plane in use is connected, by its URI: whether it has not
// failed since it last answered, nor before.
func (c *Client) Servers() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]bool)
	for _, s := range c.servers {
		out[s.config.URI] = s.worked && s.failure == nil
	}
	return out
}
