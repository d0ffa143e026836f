// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"io"
	"reflect"
	"sync"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/rpcconfig"
)

// ClientKind is a Kind that handles a client's RPCs.
type ClientKind interface {
	Kind
	// Client returns the filter for the RPCs of a route, or nil if it does nothing. It is
	// called when the route's configuration arrives, not for each RPC.
	Client(Instance) rpcconfig.Interceptor
}

// ServerKind is a Kind that handles a server's RPCs.
type ServerKind interface {
	Kind
	// Server is like Client.
	Server(Instance) rpcconfig.Filter
}

// Instance is one filter of a list, as it applies to one route.
type Instance struct {
	// Name is the name of the filter in the list.
	Name string
	// Config is what Parse has returned for the filter in the list.
	Config Config
	// Override is what ParseOverride has returned for the most specific override. It is nil if
	// there is none.
	Override Config
	// Memory belongs to the channel or the listener. If it is nil, nothing is kept.
	Memory *Memory
	// Channel describes the channel of a client's filter. It is nil on servers.
	Channel *Channel
}

// Channel is what filters know about their channel.
type Channel struct {
	// Target is the channel's target, as metrics name it (A66).
	Target string
	// Authority is the authority of RPCs that do not set their own.
	Authority string
	// Metrics receives what filters record. If it is nil, nothing is recorded.
	Metrics estats.MetricsRecorder
}

// Effective returns the override if there is one, and otherwise Config. It is for filters whose
// two kinds of configuration have one type.
func (i *Instance) Effective() Config {
	if i.Override != nil {
		return i.Override
	}
	return i.Config
}

// Memory keeps values of filters from one version of a configuration to the next (A83). Each
// channel, and each listener of a server, has one. A value that is removed is closed if it is
// an io.Closer. The methods are safe for concurrent use. The zero value is empty.
type Memory struct {
	mu       sync.Mutex
	old, now map[memoryKey]any
	atEnd    map[*func()]struct{}
	closed   bool
}

// memoryKey separates the values of filters of different kinds.
type memoryKey struct {
	kind reflect.Type
	name string
}

// Renew begins a new version. The next Renew or Settle removes the values of the version
// before, except those that filters ask for until then.
func (m *Memory) Renew() {
	m.mu.Lock()
	gone := m.old
	m.old, m.now = m.now, nil
	for key := range m.old { // values that filters have asked for again are in both maps
		delete(gone, key)
	}
	m.mu.Unlock()
	closeAll(gone)
}

// Settle ends a version. It removes the values that no filter has asked for since Renew.
func (m *Memory) Settle() {
	m.mu.Lock()
	gone := m.old
	m.old = nil
	for key := range m.now {
		delete(gone, key)
	}
	m.mu.Unlock()
	closeAll(gone)
}

// Close removes all values. Filters must not ask for values afterwards.
func (m *Memory) Close() {
	m.Renew()
	m.Settle()
	m.mu.Lock()
	calls := m.atEnd
	m.atEnd, m.closed = nil, true
	m.mu.Unlock()
	for f := range calls {
		(*f)()
	}
}

// AtEnd makes Close call f, which releases what an abandoned RPC holds. stop undoes that. If Close was called before,
// AtEnd calls f. On a nil Memory AtEnd does nothing.
func (m *Memory) AtEnd(f func()) (stop func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		f()
		return func() {}
	}
	defer m.mu.Unlock()
	if m.atEnd == nil {
		m.atEnd = make(map[*func()]struct{})
	}
	m.atEnd[&f] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.atEnd, &f)
	}
}

// closeAll closes the values that can be closed. The caller must not hold a lock, because
// closing may take a while.
func closeAll(gone map[memoryKey]any) {
	for _, v := range gone {
		if c, ok := v.(io.Closer); ok {
			_ = c.Close() // there is no caller to return an error to
		}
	}
}

// Kept returns the value of type T that is kept under name. If there is none, it calls make, without a lock, and
// keeps the result. If another call has kept one meanwhile, it closes the result and returns that one. With a nil
// Memory it keeps nothing.
func Kept[T any](m *Memory, name string, make func() T) T {
	if m == nil {
		return make()
	}
	key := memoryKey{reflect.TypeFor[T](), name}
	if v, ok := m.find(key, nil); ok {
		return v.(T)
	}
	made := make()
	v, ok := m.find(key, func() any { return made })
	if ok {
		closeAll(map[memoryKey]any{key: made})
	}
	return v.(T)
}

// find returns the value that is kept under the key, and keeps it for this version too. If there is none, ok is false, and
// it keeps and returns what instead, if not nil, returns.
func (m *Memory) find(key memoryKey, instead func() any) (v any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.now[key]; ok {
		return v, true
	}
	if v, ok = m.old[key]; !ok && instead == nil {
		return nil, false
	} else if !ok {
		v = instead()
	}
	m.keepLocked(key, v)
	return v, ok
}

func (m *Memory) keepLocked(key memoryKey, v any) {
	if m.now == nil {
		m.now = map[memoryKey]any{}
	}
	m.now[key] = v
}
