// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// FileWatcherOptions say which file is watched.
type FileWatcherOptions struct {
	// PolicyFile has the policy. It is best replaced by renaming, so that it is never read
	// half.
	PolicyFile string
	// RefreshDuration is the time from one reading to the next. It has to be positive.
	RefreshDuration time.Duration
	// OnPolicyUpdate, if set, is called with each policy once it is in force, the first
	// one too. It may call Close.
	OnPolicyUpdate func(policyContent string)
}

// FileWatcherInterceptor has the policy that a file holds, and reads it again from time to
// time. A policy that can't be read, or is wrong, is logged at each reading, and the last
// good one stays in force. It is safe for concurrent use.
type FileWatcherInterceptor struct {
	options FileWatcherOptions
	current atomic.Pointer[StaticInterceptor]

	mu     sync.Mutex // guards what follows
	closed bool
	timer  *time.Timer
	text   []byte // of the policy in force
}

// NewFileWatcher is NewFileWatcherWithOptions with a file and a duration.
func NewFileWatcher(file string, duration time.Duration) (*FileWatcherInterceptor, error) {
	return NewFileWatcherWithOptions(FileWatcherOptions{PolicyFile: file, RefreshDuration: duration})
}

// NewFileWatcherWithOptions returns an interceptor whose policy has been read. It fails if
// that can't be done, or if an option is wrong. The caller has to close it.
func NewFileWatcherWithOptions(options FileWatcherOptions) (*FileWatcherInterceptor, error) {
	if options.PolicyFile == "" {
		return nil, errors.New("authz: authorization policy file path is empty")
	}
	if options.RefreshDuration <= 0 {
		return nil, fmt.Errorf("authz: requires refresh interval(%v) greater than 0s", options.RefreshDuration)
	}
	i := &FileWatcherInterceptor{options: options}
	loaded, err := i.load()
	if err != nil {
		return nil, err
	}
	i.tell(loaded)
	i.again()
	return i, nil
}

// Close ends the reading. The policy stays in force. A reading under way may still end with
// a new one.
func (i *FileWatcherInterceptor) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
}

// UnaryInterceptor is for grpc.UnaryInterceptor and grpc.ChainUnaryInterceptor.
func (i *FileWatcherInterceptor) UnaryInterceptor(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return i.current.Load().UnaryInterceptor(ctx, req, info, handler)
}

// StreamInterceptor is for grpc.StreamInterceptor and grpc.ChainStreamInterceptor.
func (i *FileWatcherInterceptor) StreamInterceptor(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return i.current.Load().StreamInterceptor(srv, ss, info, handler)
}

// again lets refresh be called, unless the interceptor is closed.
func (i *FileWatcherInterceptor) again() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.timer = time.AfterFunc(i.options.RefreshDuration, i.refresh)
	}
}

// refresh is the timer's: there is one at a time.
func (i *FileWatcherInterceptor) refresh() {
	loaded, err := i.load()
	if err != nil {
		logger.Warningf("authorization policy reload status err: %v", err)
	}
	i.tell(loaded)
	i.again()
}

// load puts the file's policy in force and returns it, nil if it was in force already.
func (i *FileWatcherInterceptor) load() ([]byte, error) {
	text, err := os.ReadFile(i.options.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("policyFile(%s) read failed: %w", i.options.PolicyFile, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.text != nil && bytes.Equal(text, i.text) {
		return nil, nil
	}
	policy, err := NewStatic(string(text))
	if err != nil {
		return nil, err
	}
	i.text = text
	i.current.Store(policy)
	logger.Infof("authorization policy reload status: successfully loaded new policy %s", text)
	return text, nil
}

// tell calls OnPolicyUpdate, without a lock, for a policy that is new.
func (i *FileWatcherInterceptor) tell(loaded []byte) {
	if loaded != nil && i.options.OnPolicyUpdate != nil {
		i.options.OnPolicyUpdate(string(loaded))
	}
}
