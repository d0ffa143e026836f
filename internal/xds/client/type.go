// SPDX-License-Identifier: Apache-2.0

package client

import "google.golang.org/grpc/internal/xds/bootstrap"

// Type is a type of resources, whose values are of type T. It must not change once it is in
// use; there may be only one with a URL.
type Type[T any] struct {
	// URL is the type URL in ADS.
	URL string
	// Name is for messages, such as "Listener".
	Name string
	// Whole says that a response has all resources of the type that are asked for, so that one
	// which is not in it is gone. It is so for Listener and Cluster.
	Whole bool
	// Decode reads a serialized resource that came from a control plane. It is called by
	// goroutines of several servers at once. The value must not refer to raw.
	Decode func(from *bootstrap.Server, raw []byte) (T, error)
}

func (t *Type[T]) url() string  { return t.URL }
func (t *Type[T]) name() string { return t.Name }
func (t *Type[T]) whole() bool  { return t.Whole }

func (t *Type[T]) decode(from *bootstrap.Server, raw []byte) (any, error) {
	return t.Decode(from, raw)
}

// Watcher is told of a resource.
type Watcher[T any] interface {
	// Changed brings the resource, or why it can't be had: then what came before must no longer
	// be used.
	Changed(v T, err error)
	// Ambient brings an error that leaves the resource in use, for messages about other errors;
	// nil says that it is over. Changed says so too (A88).
	Ambient(err error)
}

// Watch tells w of the resource with this name, until cancel is called, which may be done more
// than once. Errors of Watch itself go to w too.
func Watch[T any](c *Client, t *Type[T], name string, w Watcher[T]) (cancel func()) {
	return c.watch(t, name, &watch{
		changed: func(v any, err error) {
			value, _ := v.(T)
			w.Changed(value, err)
		},
		ambient: w.Ambient,
	})
}
