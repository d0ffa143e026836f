// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"sync"
	"sync/atomic"
)

// requests counts the RPCs of the process that are in progress on a cluster (A32).
type requests struct {
	atomic.Int64
	key requestKey
	// users is the number of policies that use the counter. counters.Mutex guards it.
	users int
	// unused says that users is 0: whoever ends the last RPC removes the counter.
	unused atomic.Bool
}

// requestKey identifies a counter.
type requestKey struct{ cluster, service string }

// counters has the counters of all channels of the process.
var counters = struct {
	sync.Mutex
	byKey map[requestKey]*requests
}{byKey: make(map[requestKey]*requests)}

// requestsOf returns the counter for a key, and adds a user. The caller must call release.
func requestsOf(key requestKey) *requests {
	counters.Lock()
	defer counters.Unlock()
	r := counters.byKey[key]
	if r == nil {
		r = &requests{key: key}
		counters.byKey[key] = r
	}
	r.users++
	r.unused.Store(false)
	return r
}

// release removes a user of the counter. RPCs that are still in progress use the counter afterwards, and keep it for
// the next user: it counts all RPCs of the process. r may be nil.
func (r *requests) release() {
	if r == nil {
		return
	}
	counters.Lock()
	r.users--
	r.unused.Store(r.users == 0)
	counters.Unlock()
	r.tidy()
}

// ended counts the end of an RPC.
func (r *requests) ended() {
	if r.Add(-1) == 0 {
		r.tidy()
	}
}

// tidy removes a counter that has no user and counts no RPC.
func (r *requests) tidy() {
	if !r.unused.Load() {
		return
	}
	counters.Lock()
	defer counters.Unlock()
	if r.users == 0 && r.Load() == 0 && counters.byKey[r.key] == r {
		delete(counters.byKey, r.key)
	}
}
