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

// FileWatcherOptions are the options of NewFileWatcherWithOptions.
type FileWatcherOptions struct {
	// PolicyFile is the path of the file with the policy. Replace the file by renaming a
	// complete one, so that the interceptor never reads half a policy.
	PolicyFile string
	// RefreshDuration is the time between two readings of the file. It must be positive.
	RefreshDuration time.Duration
	// OnPolicyUpdate, if not nil, is called with each new policy after the policy has taken
	// effect, including the first one. The file is not read again before it returns. It may call
	// Close.
	OnPolicyUpdate func(policyContent string)
}

// FileWatcherInterceptor enforces the policy in a file, which it reads again at regular
// intervals. If it can't read or parse the file, it logs a warning at each reading and keeps
// the last valid policy. It is safe for concurrent use.
type FileWatcherInterceptor struct {
	options FileWatcherOptions
	current atomic.Pointer[StaticInterceptor]
	text    []byte // the JSON of the current policy; owned by load, of which only one call runs at a time

	mu     sync.Mutex // guards what follows
	closed bool
	timer  *time.Timer
}

// NewFileWatcher calls NewFileWatcherWithOptions with a file and a refresh duration.
func NewFileWatcher(file string, duration time.Duration) (*FileWatcherInterceptor, error) {
	return NewFileWatcherWithOptions(FileWatcherOptions{PolicyFile: file, RefreshDuration: duration})
}

// NewFileWatcherWithOptions returns an interceptor that has read its policy from the file.
// It fails if an option is wrong or the policy can't be read or parsed. The caller must
// call Close on the interceptor.
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

// Close stops the periodic reading of the file. The interceptor keeps enforcing the last
// policy. If a reading is under way, OnPolicyUpdate may still run after Close has returned.
func (i *FileWatcherInterceptor) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
}

// UnaryInterceptor is the interceptor to pass to grpc.UnaryInterceptor or
// grpc.ChainUnaryInterceptor.
func (i *FileWatcherInterceptor) UnaryInterceptor(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return i.current.Load().UnaryInterceptor(ctx, req, info, handler)
}

// StreamInterceptor is the interceptor to pass to grpc.StreamInterceptor or
// grpc.ChainStreamInterceptor.
func (i *FileWatcherInterceptor) StreamInterceptor(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return i.current.Load().StreamInterceptor(srv, ss, info, handler)
}

// again schedules the next call of refresh, unless the interceptor is closed.
func (i *FileWatcherInterceptor) again() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.timer = time.AfterFunc(i.options.RefreshDuration, i.refresh)
	}
}

// refresh is what the timer calls. Only one call runs at a time, because refresh itself
// starts the next timer.
func (i *FileWatcherInterceptor) refresh() {
	defer i.again() // also if code of the program, such as OnPolicyUpdate, ends the goroutine
	loaded, err := i.load()
	if err != nil {
		logger.Warningf("authorization policy reload status err: %v", err)
	}
	i.tell(loaded)
}

// load puts the file's policy in force and returns its text. It returns nil if that policy
// was in force already, or if the interceptor is closed.
func (i *FileWatcherInterceptor) load() ([]byte, error) {
	text, err := os.ReadFile(i.options.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("policyFile(%s) read failed: %w", i.options.PolicyFile, err)
	}
	if i.text != nil && bytes.Equal(text, i.text) {
		return nil, nil
	}
	policy, err := NewStatic(string(text)) // calls builders of audit loggers, which may call Close
	if err != nil {
		return nil, err
	}
	if !i.enforce(policy) {
		return nil, nil
	}
	i.text = text
	logger.Infof("authorization policy reload status: successfully loaded new policy %s", text)
	return text, nil
}

// enforce puts a policy in force, unless the interceptor is closed.
func (i *FileWatcherInterceptor) enforce(policy *StaticInterceptor) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.current.Store(policy)
	}
	return !i.closed
}

// tell calls OnPolicyUpdate, without holding mu, if loaded is not nil.
func (i *FileWatcherInterceptor) tell(loaded []byte) {
	if loaded != nil && i.options.OnPolicyUpdate != nil {
		i.options.OnPolicyUpdate(string(loaded))
	}
}
