// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// issuer makes numbered tokens, each after a second.
type issuer struct {
	lifetime time.Duration
	err      error
	asked    int
}

func (i *issuer) fetch() (Token, error) {
	i.asked++
	n := i.asked
	time.Sleep(time.Second)
	if i.err != nil {
		return Token{}, i.err
	}
	return Token{Value: fmt.Sprint("t", n), Expiry: time.Now().Add(i.lifetime)}, nil
}

func expect(t *testing.T, c *Cache, value string, err error) {
	t.Helper()
	got, gotErr := c.Get(t.Context())
	if got != value || gotErr != err {
		t.Errorf("%q, %v; want %q, %v", got, gotErr, value, err)
	}
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: 10 * time.Minute}
		c := New(i.fetch)
		expect(t, c, "t1", nil)
		time.Sleep(8*time.Minute + 20*time.Second)
		expect(t, c, "t1", nil) // 100 seconds left: nothing is due
		synctest.Wait()
		if i.asked != 1 {
			t.Errorf("asked %d times", i.asked)
		}
		time.Sleep(20 * time.Second)
		begin := time.Now()
		expect(t, c, "t1", nil) // fetches the next, and doesn't wait for it
		expect(t, c, "t1", nil)
		if d := time.Since(begin); d != 0 {
			t.Errorf("waited %v", d)
		}
		time.Sleep(2 * time.Second)
		expect(t, c, "t2", nil)
		time.Sleep(time.Hour)
		expect(t, c, "t3", nil) // has expired: waits
		if i.asked != 3 {
			t.Errorf("asked %d times", i.asked)
		}
	})
}

// TestAnswersDoNotPace: an issuer whose tokens are due at once is asked once a second.
func TestAnswersDoNotPace(t *testing.T) {
	for _, life := range []time.Duration{time.Second, Skew, Skew + time.Second, Skew + refreshAhead} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := New(func() (Token, error) {
				asked++
				return Token{Value: "t", Expiry: time.Now().Add(life)}, nil
			})
			for range 10_000 {
				expect(t, c, "t", nil)
				time.Sleep(time.Millisecond)
			}
			if asked < 9 || asked > 11 {
				t.Errorf("a token for %v: asked %d times in 10 s", life, asked)
			}
		})
	}
}

// TestShort: a token that nobody may keep serves those that waited for it.
func TestShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: Skew}
		c := New(i.fetch)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { expect(t, c, "t1", nil) })
		}
		wg.Wait()
		expect(t, c, "t1", nil)
		time.Sleep(MinLife)
		expect(t, c, "t2", nil)
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		i := &issuer{lifetime: time.Hour, err: first}
		c := New(i.fetch)
		expect(t, c, "", first)
		i.err = second
		time.Sleep(900 * time.Millisecond)
		expect(t, c, "", first) // not asked again yet
		time.Sleep(200 * time.Millisecond)
		expect(t, c, "", second)
		i.err = nil
		time.Sleep(1200 * time.Millisecond)
		expect(t, c, "", second) // 1.28 seconds at least
		time.Sleep(time.Second)
		expect(t, c, "t3", nil)
		time.Sleep(59 * time.Minute)
		i.err = first
		expect(t, c, "t3", nil) // the next one fails, and this one is good still
		time.Sleep(1500 * time.Millisecond)
		expect(t, c, "t3", nil) // in the pause after that
		i.err = nil
		time.Sleep(time.Minute)
		expect(t, c, "t5", nil)
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New((&issuer{lifetime: time.Hour}).fetch)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Get(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
		expect(t, c, "t1", nil)
	})
}

func TestExpiry(t *testing.T) {
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for text, want := range map[string]int64{
		jwt(`{"exp": 1700000000}`):            1700000000,
		jwt(`{"exp": 1700000000.75, "a": 1}`): 1700000000,
		jwt(`{"exp": -5}`):                    0,
	} {
		if got, err := Expiry(text); err != nil || got.Unix() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := Expiry(jwt(`{"exp": 1e300}`)); err != nil || got.Before(time.Now().AddDate(1000, 0, 0)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "a", "a.b", "a.b.c.d", "..", "x.?.z", jwt(""), jwt("1"), jwt("{}"), jwt(`{"exp": "1"}`), jwt(`{"exp": null}`)} {
		if got, err := Expiry(text); !errors.Is(err, errJWT) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
