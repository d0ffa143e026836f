// SPDX-License-Identifier: Apache-2.0

package client

import "google.golang.org/grpc/internal/xds/bootstrap"

// Type is a type of resource, whose values have type T. It must not change once it is in use.
// There must be only one Type for a URL.
type Type[T any] struct {
	// URL is the type URL in ADS.
	URL string
	// Name is the name in messages, such as "Listener".
	Name string
	// Whole says that each response has all requested resources of the type. So a resource that
	// is missing from a response has been deleted. It is true for Listener and Cluster.
	Whole bool
	// Decode decodes a serialized resource that came from a control plane. The goroutines of
	// several servers call it concurrently. The value must not refer to raw.
	Decode func(from *bootstrap.Server, raw []byte) (T, error)
	// Alike reports whether Decode makes the same of the same bytes whichever of the two control planes
	// sent them. Then a resource that comes unchanged from the other one has not changed. Nil means that
	// this is so for all control planes.
	Alike func(a, b *bootstrap.Server) bool
}

func (t *Type[T]) url() string  { return t.URL }
func (t *Type[T]) name() string { return t.Name }
func (t *Type[T]) whole() bool  { return t.Whole }

func (t *Type[T]) alike(a, b *bootstrap.Server) bool { return t.Alike == nil || t.Alike(a, b) }

func (t *Type[T]) decode(from *bootstrap.Server, raw []byte) (any, error) {
	return t.Decode(from, raw)
}

// Watcher receives the versions of a resource.
type Watcher[T any] interface {
	// Changed delivers a version of the resource, or an error that says why there is none.
	// After an error the watcher must stop using the version before.
	Changed(v T, err error)
	// Ambient delivers an error that leaves the current version in use. The watcher may mention
	// it in messages about other errors. Nil means that the error is over, as does the next
	// call of Changed (A88).
	Ambient(err error)
}

// Watch tells w about the resource with this name until cancel is called. cancel may be called
// more than once. w also receives the errors of Watch itself.
func Watch[T any](c *Client, t *Type[T], name string, w Watcher[T]) (cancel func()) {
	return c.watch(t, name, &watch{
		changed: func(v any, err error) {
			value, _ := v.(T)
			w.Changed(value, err)
		},
		ambient: w.Ambient,
	})
}
