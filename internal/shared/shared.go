// SPDX-License-Identifier: Apache-2.0

// Package shared shares values, such as channels, between those that use them at the same time.
package shared

import (
	"errors"
	"sync"
)

// Values has the values in use, by key. The zero value is empty. The methods are safe for concurrent use.
type Values[K comparable, V any] struct {
	mu    sync.Mutex // not held while a value is made or ended, which may call code of the program
	byKey map[K]*value[V]
}

// value is set before made is closed. Values.mu guards users, the number of calls of Use that have not been released.
type value[V any] struct {
	made  chan struct{}
	v     V
	end   func()
	err   error
	users int
}

var errUnmade = errors.New("the function that makes it has not returned")

// Use returns the value with this key until release is called, which may be called more than once. It calls create if
// the value is not in use yet. Calls of Use for one key wait for one create, and fail if it fails; the next one tries
// it again. Those for other keys do not wait. After the last release, Use calls end, which create has returned.
func (s *Values[K, V]) Use(key K, create func() (v V, end func(), err error)) (v V, release func(), err error) {
	u, first := s.reserve(key)
	if first {
		s.create(key, u, create)
	}
	if <-u.made; u.err != nil {
		return v, nil, u.err
	}
	return u.v, sync.OnceFunc(func() { s.release(key, u) }), nil
}

// reserve returns the value with this key. If first is true, the caller must make it.
func (s *Values[K, V]) reserve(key K) (u *value[V], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.byKey[key]; u == nil {
		if s.byKey == nil {
			s.byKey = make(map[K]*value[V])
		}
		u, first = &value[V]{made: make(chan struct{}), err: errUnmade}, true
		s.byKey[key] = u
	}
	u.users++
	return u, first
}

// create makes u. It has an error also if create panics or ends the goroutine.
func (s *Values[K, V]) create(key K, u *value[V], create func() (V, func(), error)) {
	defer close(u.made)
	defer func() {
		if u.err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.byKey, key)
		}
	}()
	u.v, u.end, u.err = create()
}

func (s *Values[K, V]) release(key K, u *value[V]) {
	s.mu.Lock()
	u.users--
	last := u.users == 0
	if last {
		delete(s.byKey, key)
	}
	s.mu.Unlock()
	if last {
		u.end()
	}
}

// Len returns the number of values in use.
func (s *Values[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}
