// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"reflect"
	"runtime"
	"strings"
	"sync"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/stats"
)

// Shared is a reporter of figures that are not about one channel or server. Several users
// may add the same recorder: the first one registers the reporter with it, and the reporter
// is unregistered when the last one stops. It is safe for concurrent use.
type Shared struct {
	reporter estats.AsyncMetricReporter
	metrics  []estats.AsyncMetric

	mu    sync.Mutex
	users map[estats.MetricsRecorder]*sharedUse // nil while there are none
}

// sharedUse is the registration with one recorder. Shared.mu guards count. undo is set
// before registered is closed.
type sharedUse struct {
	count      int
	registered chan struct{}
	undo       func()
}

// NewShared returns a Shared without users.
func NewShared(reporter estats.AsyncMetricReporter, metrics []estats.AsyncMetric) *Shared {
	return &Shared{reporter: reporter, metrics: metrics}
}

// Add adds a user of each recorder among the handlers and of each of the others, until stop
// is called. stop may be called more than once. It is nil if there is no recorder.
func (s *Shared) Add(handlers []stats.Handler, others ...estats.MetricsRecorder) (stop func()) {
	var undo []func()
	for _, r := range others {
		undo = append(undo, s.addOne(r))
	}
	for _, h := range handlers {
		if r, ok := h.(estats.MetricsRecorder); ok {
			undo = append(undo, s.addOne(r))
		}
	}
	if undo == nil {
		return nil
	}
	return sync.OnceFunc(func() {
		for _, f := range undo {
			f()
		}
	})
}

func (s *Shared) addOne(r estats.MetricsRecorder) (undo func()) {
	if !reflect.ValueOf(r).Comparable() {
		return register(r, s.reporter, s.metrics)
	}
	s.mu.Lock()
	use := s.users[r]
	first := use == nil
	if first {
		use = &sharedUse{registered: make(chan struct{})}
		if s.users == nil {
			s.users = make(map[estats.MetricsRecorder]*sharedUse)
		}
		s.users[r] = use
	}
	use.count++
	s.mu.Unlock()
	if first { // without the lock, because this calls the recorder's code
		defer close(use.registered)
		defer func() {
			if use.undo == nil { // the recorder's code has not returned: the next one tries again
				use.undo = func() {}
				s.mu.Lock()
				delete(s.users, r)
				s.mu.Unlock()
			}
		}()
		use.undo = register(r, s.reporter, s.metrics)
	}
	return func() { s.remove(r, use) }
}

// register registers the reporter with r. undo is never nil. It ignores the nil pointer panic of a
// recorder that embeds a nil MetricsRecorder and does not implement the method itself: such a
// recorder does not want these figures.
func register(r estats.MetricsRecorder, reporter estats.AsyncMetricReporter, metrics []estats.AsyncMetric) (undo func()) {
	undo = func() {}
	defer func() {
		cause := recover()
		if err, ok := cause.(runtime.Error); cause != nil && !(ok && strings.Contains(err.Error(), "nil pointer")) {
			panic(cause)
		}
	}()
	if f := r.RegisterAsyncReporter(reporter, metrics...); f != nil {
		undo = f
	}
	return undo
}

func (s *Shared) remove(r estats.MetricsRecorder, use *sharedUse) {
	s.mu.Lock()
	use.count--
	last := use.count == 0
	if last {
		delete(s.users, r)
		if len(s.users) == 0 {
			s.users = nil
		}
	}
	s.mu.Unlock()
	if last {
		<-use.registered
		use.undo()
	}
}
