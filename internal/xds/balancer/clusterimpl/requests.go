// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"sync"
	"sync/atomic"
)

// requests counts the RPCs that a process has under way to a cluster (A32).
type requests struct {
	atomic.Int64
	key requestKey
	// users counts policies. The lock of counters guards it.
	users int
}

// requestKey names what is counted.
type requestKey struct{ cluster, service string }

// counters are of all channels of the process.
var counters = struct {
	sync.Mutex
	byKey map[requestKey]*requests
}{byKey: make(map[requestKey]*requests)}

// requestsOf returns the counter, for one more policy.
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

// release is called when a policy does not need it any more. RPCs may still be counted down. r
// may be nil.
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
