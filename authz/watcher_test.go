// SPDX-License-Identifier: Apache-2.0

package authz_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/codes"
)

const (
	allowAll  = `{"name":"all","allow_rules":[{"name":"r"}]}`
	allowNone = `{"name":"none","allow_rules":[{"name":"r","request":{"paths":["/x"]}}]}`
)

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each good policy is told of once; bad ones, and a file that is gone, change nothing; after
// Close nothing does.
func TestWatcherReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.json")
		put(t, file, allowAll)
		var told []string
		i, err := authz.NewFileWatcherWithOptions(authz.FileWatcherOptions{
			PolicyFile: file, RefreshDuration: time.Minute,
			OnPolicyUpdate: func(policy string) { told = append(told, policy) },
		})
		if err != nil {
			t.Fatal(err)
		}
		later := func(what string, want ...string) {
			t.Helper()
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			if !slices.Equal(told, want) {
				t.Errorf("%s: told of %q, want %q", what, told, want)
			}
		}
		later("unchanged", allowAll)
		put(t, file, `{"name":"bad"`)
		later("bad", allowAll)
		put(t, file, allowNone)
		later("another", allowAll, allowNone)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		later("gone", allowAll, allowNone)
		put(t, file, allowNone)
		later("back", allowAll, allowNone)
		put(t, file, allowAll)
		later("the first again", allowAll, allowNone, allowAll)
		i.Close()
		i.Close()
		put(t, file, allowNone)
		later("closed", allowAll, allowNone, allowAll)
	})
}

// A server obeys the new policy in its next RPC, and the last one after Close. The callback
// may close the interceptor.
func TestWatcherOnAServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	put(t, file, allowAll)
	updates := make(chan string, 2)
	made := make(chan *authz.FileWatcherInterceptor, 1)
	i, err := authz.NewFileWatcherWithOptions(authz.FileWatcherOptions{
		PolicyFile: file, RefreshDuration: time.Millisecond,
		OnPolicyUpdate: func(policy string) {
			if policy == allowNone {
				(<-made).Close()
			}
			updates <- policy
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if got := <-updates; got != allowAll {
		t.Fatalf("told of %q before it was ready, want %q", got, allowAll)
	}
	hc := serve(t, i, identities(t)[0])
	if unary, stream := check(t, hc); unary != codes.OK || stream != codes.OK {
		t.Errorf("unary %v, stream %v; want OK", unary, stream)
	}
	made <- i
	if err := os.WriteFile(file+".new", []byte(allowNone), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if got := <-updates; got != allowNone {
		t.Fatalf("told of %q, want %q", got, allowNone)
	}
	if unary, stream := check(t, hc); unary != codes.PermissionDenied || stream != codes.PermissionDenied {
		t.Errorf("unary %v, stream %v; want PermissionDenied", unary, stream)
	}
}

// closing is a builder of loggers that closes the interceptor, if there is one, when it parses a configuration.
type closing struct {
	keeper
	i *authz.FileWatcherInterceptor
}

func (c *closing) Name() string { return "closing" }

func (c *closing) ParseLoggerConfig(config json.RawMessage) (audit.LoggerConfig, error) {
	if c.i != nil {
		c.i.Close()
	}
	return c.keeper.ParseLoggerConfig(config)
}

// TestWatcherClosedByLoggerBuilder: a builder of audit loggers may close the interceptor, which then keeps its policy.
func TestWatcherClosedByLoggerBuilder(t *testing.T) {
	c := &closing{}
	audit.RegisterLoggerBuilder(c)
	policy := func(name string) string {
		return `{"name":"` + name + `","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_loggers":[{"name":"closing"}]}}`
	}
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.json")
		put(t, file, policy("a"))
		var told []string
		i, err := authz.NewFileWatcherWithOptions(authz.FileWatcherOptions{
			PolicyFile: file, RefreshDuration: time.Minute,
			OnPolicyUpdate: func(policy string) { told = append(told, policy) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.i = i
		put(t, file, policy("b"))
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if len(c.parsed) != 2 || len(told) != 1 {
			t.Errorf("parsed %d times, told of %q", len(c.parsed), told)
		}
	})
}

func TestWatcherNeedsAPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	for _, tt := range []struct {
		file, content string
		refresh       time.Duration
		err           string
	}{
		{"", "", time.Second, "authz: authorization policy file path is empty"},
		{file, "", 0, "authz: requires refresh interval(0s) greater than 0s"},
		{file, "", -1, "authz: requires refresh interval(-1ns) greater than 0s"},
		{file + "x", "", time.Second, "read failed: open "},
		{file, "", time.Second, "failed to unmarshal policy: EOF"},
		{file, "{}", time.Second, `"name" is not present`},
	} {
		put(t, file, tt.content)
		i, err := authz.NewFileWatcher(tt.file, tt.refresh)
		if i != nil || err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%v, error %v, want %q", i, err, tt.err)
		}
	}
}
