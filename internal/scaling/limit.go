// SPDX-License-Identifier: Apache-2.0

// Package scaling carries the limit of connections per subchannel (gRFC A105) from its configuration
// to the subchannels. A Limit is the notification object of that document.
package scaling

import (
	"sync"

	"google.golang.org/grpc/resolver"
)

// Default is how many connections a subchannel may have if no other limit is set.
const Default = 1

// Limit is how many connections each subchannel that follows it may have. The zero value stands for
// Default. It is safe for concurrent use.
type Limit struct {
	mu       sync.Mutex
	n        int
	watchers map[*func(int)]struct{}
}

// Set changes the limit, and tells those that watch it. A smaller number than Default stands for Default.
func (l *Limit) Set(n int) {
	n = max(n, Default)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == max(l.n, Default) {
		return
	}
	l.n = n
	for f := range l.watchers {
		(*f)(n)
	}
}

// Watch calls f with the limit, and again whenever the limit changes, until stop is called. f must
// not call the Limit's methods.
func (l *Limit) Watch(f func(n int)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers == nil {
		l.watchers = make(map[*func(int)]struct{})
	}
	key := &f
	l.watchers[key] = struct{}{}
	f(max(l.n, Default))
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, key)
	}
}

type limitKey struct{}

// Attach makes subchannels to the address follow l instead of the service config. An address with
// another Limit is another address, so a policy should keep one Limit for as long as it lives.
func Attach(a resolver.Address, l *Limit) resolver.Address {
	a.Attributes = a.Attributes.WithValue(limitKey{}, l)
	return a
}

// Of returns the Limit that is attached to the address, or nil if there is none.
func Of(a resolver.Address) *Limit {
	l, _ := a.Attributes.Value(limitKey{}).(*Limit)
	return l
}
