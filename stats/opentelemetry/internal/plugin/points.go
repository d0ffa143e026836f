// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"google.golang.org/grpc/codes"
)

// point is a set of attributes, as options of instruments.
type point struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newPoint(attrs ...attribute.KeyValue) *point {
	o := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &point{[]metric.AddOption{o}, []metric.RecordOption{o}}
}

// statuses is the number of status codes: codes.Unauthenticated is the last.
const statuses = int(codes.Unauthenticated) + 1

// points are the sets of attributes of one method.
type points struct {
	common []attribute.KeyValue // the method, and on a channel the target
	labels Exchange             // nil if there are no labels of the two ends
	on     optional

	begun *point                          // has only common
	ended [statuses]atomic.Pointer[point] // each has common and a status
	more  cache[pointKey, *point]         // all other sets
}

// pointKey distinguishes the points of one method. Labels that are off are empty.
type pointKey struct {
	status   codes.Code
	kind     pointKind
	custom   string
	place    string
	backend  string
	service  string // if it is "", no balancer named the service and there is no label
	inside   string // the service's namespace, also "" if there is no label
	otherEnd string // an Exchange's key
}

type pointKind uint8

const (
	ofBegin   pointKind = iota // of the start of an attempt or a served call, without a status
	ofEnd                      // of the end of an attempt or a served call
	ofCall                     // of a client's call, without labels from balancers and the other end
	ofRetries                  // like ofCall, without a status
)

// find returns the point for k. A status that is none of gRPC's counts as UNKNOWN.
func (p *points) find(k pointKey) *point {
	if int64(k.status) >= int64(statuses) { // a peer that invents codes must not make a series for each
		k.status = codes.Unknown
	}
	if p.labels == nil && k.custom == "" && k.place == "" && k.backend == "" && p.on == (optional{}) {
		if k.kind == ofBegin || k.kind == ofRetries {
			return p.begun
		}
		slot := &p.ended[k.status]
		if found := slot.Load(); found != nil {
			return found
		}
		made := p.make(k)
		slot.Store(made)
		return made
	}
	if len(k.otherEnd) > maxCachedKey {
		return p.make(k)
	}
	return p.more.get(k, p.make)
}

// maxCachedKey is how long an Exchange's key may be, in bytes, for its labels to be cached. The cache
// keeps keys for ever, and the peer determines them.
const maxCachedKey = 2 << 10

func (p *points) make(k pointKey) *point {
	attrs := append([]attribute.KeyValue(nil), p.common...)
	if k.kind == ofEnd || k.kind == ofCall {
		attrs = append(attrs, attribute.String(labelStatus, statusNames[k.status]))
	}
	if p.on.custom {
		attrs = append(attrs, attribute.String(labelCustom, k.custom))
	}
	if k.kind == ofEnd {
		if p.on.place {
			attrs = append(attrs, attribute.String(labelPlace, k.place))
		}
		if p.on.backend {
			attrs = append(attrs, attribute.String(labelBackend, k.backend))
		}
		if k.service != "" {
			attrs = append(attrs, attribute.String(labelService, k.service))
		}
		if k.inside != "" {
			attrs = append(attrs, attribute.String(labelNamespace, k.inside))
		}
		if p.labels != nil {
			for _, l := range p.labels.Labels(k.otherEnd) {
				attrs = append(attrs, attribute.String(l.Name, l.Value))
			}
		}
	}
	return newPoint(attrs...)
}

var statusNames = [statuses]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// cacheSize bounds how many keys a cache holds. Values of further keys are made each time.
const cacheSize = 1000

// cache keeps the values that were made for keys. Reads take no lock. Writes, which are rare,
// copy the map. The zero value is an empty cache.
type cache[K comparable, V any] struct {
	mu   sync.Mutex // of writers
	kept atomic.Pointer[map[K]V]
}

func (c *cache[K, V]) get(k K, make func(K) V) V {
	if m := c.kept.Load(); m != nil {
		if v, ok := (*m)[k]; ok {
			return v
		}
	}
	return c.add(k, make)
}

func (c *cache[K, V]) add(k K, make func(K) V) V {
	if m := c.kept.Load(); m != nil && len(*m) >= cacheSize {
		return make(k) // without the lock: a peer may choose the keys
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[K]V{}
	if m := c.kept.Load(); m != nil {
		if v, ok := (*m)[k]; ok {
			return v
		}
		if len(*m) >= cacheSize {
			return make(k)
		}
		next = maps.Clone(*m)
	}
	v := make(k)
	next[k] = v
	c.kept.Store(&next)
	return v
}
