// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"io"
	"reflect"
	"sync"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/rpcconfig"
)

// ClientKind is a Kind that does something to a client's RPCs.
type ClientKind interface {
	Kind
	// Client returns what the filter does to the RPCs of a route, nil for nothing. It is called
	// when the route's configuration comes, not for each RPC.
	Client(Instance) rpcconfig.Interceptor
}

// ServerKind is a Kind that does something to a server's RPCs.
type ServerKind interface {
	Kind
	// Server is like Client.
	Server(Instance) rpcconfig.Filter
}

// Instance is a filter of a list, as one route has it.
type Instance struct {
	// Name is that of the list.
	Name string
	// Config is what Parse made of the list's message.
	Config Config
	// Override is what ParseOverride made of the most specific override, nil without any.
	Override Config
	// Memory is that of the channel or the listener. Nil: nothing is kept.
	Memory *Memory
	// Channel is what a client's filter is in. Nil on servers.
	Channel *Channel
}

// Channel is what filters know of the channel that they are in.
type Channel struct {
	// Target is the channel's, as metrics name it (A66).
	Target string
	// Authority is that of RPCs which choose no other.
	Authority string
	// Metrics receives what filters record. Nil: nobody does.
	Metrics estats.MetricsRecorder
}

// Effective returns the override if there is one, for filters that have one type of Config.
func (i *Instance) Effective() Config {
	if i.Override != nil {
		return i.Override
	}
	return i.Config
}

// Memory is what filters keep from one version of a configuration to the next (A83). Each
// channel, and each listener of a server, has one. What is forgotten is closed, if it is an
// io.Closer. Its methods are safe for concurrent use; the zero value is empty.
type Memory struct {
	mu       sync.Mutex
	old, now map[memoryKey]any
	atEnd    map[*func()]struct{}
}

// memoryKey keeps filters of different kinds apart.
type memoryKey struct {
	kind reflect.Type
	name string
}

// Renew begins a new version: what no filter asks for before the next Renew is forgotten then.
func (m *Memory) Renew() {
	m.mu.Lock()
	gone := m.old
	m.old, m.now = m.now, nil
	for key := range m.old { // what is kept for another version is in both
		delete(gone, key)
	}
	m.mu.Unlock()
	closeAll(gone)
}

// Settle ends a version: what no filter has asked for since Renew is forgotten.
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

// Close forgets everything. Filters must not ask for anything afterwards.
func (m *Memory) Close() {
	m.Renew()
	m.Settle()
	m.mu.Lock()
	calls := m.atEnd
	m.atEnd = nil
	m.mu.Unlock()
	for f := range calls {
		(*f)()
	}
}

// AtEnd has f called by Close, for what an RPC holds whose application forgets it. stop ends
// that. On a nil Memory it does nothing.
func (m *Memory) AtEnd(f func()) (stop func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
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

// closeAll closes what can be. Nothing is locked: closing may take a while.
func closeAll(gone map[memoryKey]any) {
	for _, v := range gone {
		if c, ok := v.(io.Closer); ok {
			_ = c.Close() // nobody is left to be told
		}
	}
}

// Kept returns what there is of type T by a name, or else what make makes, which is then kept.
// Without a Memory nothing is.
func Kept[T any](m *Memory, name string, make func() T) T {
	if m == nil {
		return make()
	}
	key := memoryKey{reflect.TypeFor[T](), name}
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.now[key]
	if !ok {
		if v, ok = m.old[key]; !ok {
			v = make()
		}
		m.keepLocked(key, v)
	}
	return v.(T)
}

func (m *Memory) keepLocked(key memoryKey, v any) {
	if m.now == nil {
		m.now = map[memoryKey]any{}
	}
	m.now[key] = v
}
