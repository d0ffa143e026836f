// SPDX-License-Identifier: Apache-2.0

// Package scaling carries how many connections a subchannel may have (gRFC A105) from where
// it is configured to the subchannels: the notification object of that document.
package scaling

import (
	"sync"

	"google.golang.org/grpc/resolver"
)

// Default is how many connections a subchannel has at most that nothing was said to.
const Default = 1

// Limit is how many connections each of some subchannels may have. The zero value is
// Default. It is safe for concurrent use.
type Limit struct {
	mu       sync.Mutex
	n        int
	watchers map[*func(int)]struct{}
}

// Set changes the limit, and tells who watches it. Less than Default stands for it.
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

// Watch calls f with the limit, and again whenever it changes, until stop is called. f must
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

// Attach has subchannels to the address follow l, in place of the service config. To change
// what is attached is to change the address: keep one Limit for as long as a policy lives.
func Attach(a resolver.Address, l *Limit) resolver.Address {
	a.Attributes = a.Attributes.WithValue(limitKey{}, l)
	return a
}

// Of returns the Limit that was attached to the address, nil for none.
func Of(a resolver.Address) *Limit {
	l, _ := a.Attributes.Value(limitKey{}).(*Limit)
	return l
}
