// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace. It lasts until it is closed and nothing runs in it, nor has
// a socket there.
type namespace struct{ fd int }

// onThread runs f on a thread that ends with it: what it makes of its thread harms nobody.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // a goroutine that ends so takes its thread with it
		done <- f()
	}()
	return <-done
}

// newNamespace makes a namespace and has set it up from inside.
func newNamespace(setUp func() error) (namespace, error) {
	ns := namespace{fd: -1}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("a network namespace: %w", err)
		}
		fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("the network namespace's file: %w", err)
		}
		ns.fd = fd
		return setUp()
	})
	if err != nil && ns.fd >= 0 {
		_ = unix.Close(ns.fd)
	}
	return ns, err
}

// do runs f inside, on a thread of its own. What f has other goroutines do is done outside.
func (n namespace) do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
		return f()
	})
}

func (n namespace) close() error { return unix.Close(n.fd) }
