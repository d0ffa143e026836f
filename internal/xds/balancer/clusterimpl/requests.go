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
	return r
}

// release removes a user of the counter. RPCs that are still in progress may use the counter
// afterwards. r may be nil.
func (r *requests) release() {
	if r == nil {
		return
	}
	counters.Lock()
	defer counters.Unlock()
	if r.users--; r.users == 0 {
		delete(counters.byKey, r.key)
	}
}
