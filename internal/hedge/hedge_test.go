// SPDX-License-Identifier: Apache-2.0

package hedge

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// play runs a script on a race. Its words, each at a time in milliseconds:
//
//	10:due         the time of Next has come; the throttle is open
//	10:throttled   as above; it is not
//	10:ok 10:fatal 10:nonfatal 10:nomore 10:later=5   an attempt ended
//	10:headers     an attempt has the response's headers
//	10:close       what was sent is not kept any more
//
// It returns what was decided, in words: begin, skip, lost, counts, - for nothing, each with
// the time of the next attempt where there is one.
func play(t *testing.T, p Policy, script string) string {
	t.Helper()
	epoch := time.UnixMilli(1_000_000)
	r := Start(p, epoch)
	outcomes := map[string]Outcome{"ok": Success, "fatal": Fatal, "nonfatal": NonFatal, "nomore": NoMore, "later": Later}
	var told []string
	say := func(what string) {
		if at, ok := r.Next(); ok {
			what += fmt.Sprintf("@%d", at.Sub(epoch).Milliseconds())
		}
		told = append(told, what)
	}
	for word := range strings.FieldsSeq(script) {
		when, what, _ := strings.Cut(word, ":")
		ms, err := strconv.Atoi(when)
		if err != nil {
			t.Fatal(err)
		}
		now := epoch.Add(time.Duration(ms) * time.Millisecond)
		what, number, _ := strings.Cut(what, "=")
		switch what {
		case "due", "throttled":
			begin, lost := r.Due(now, what == "throttled")
			say(map[[2]bool]string{{true, false}: "begin", {false, false}: "skip", {false, true}: "lost"}[[2]bool{begin, lost}])
		case "headers":
			say(map[bool]string{true: "counts", false: "-"}[r.Committed()])
		case "close":
			say(map[bool]string{true: "lost", false: "-"}[r.Close()])
		default:
			delay, _ := strconv.Atoi(number)
			counts := r.Ended(now, outcomes[what], time.Duration(delay)*time.Millisecond)
			say(map[bool]string{true: "counts", false: "-"}[counts])
		}
	}
	return strings.Join(told, " ")
}

// TestTables has the sentences of gRFC A6 on hedging.
func TestTables(t *testing.T) {
	four := Policy{Attempts: 4, Delay: 500 * time.Millisecond}
	at0 := Policy{Attempts: 4}
	for _, tt := range []struct {
		name   string
		policy Policy
		script string
		want   string
	}{
		// "after 1ms there would be one outstanding RPC, after 501ms there would be two
		// outstanding RPCs, after 1001ms three, and after 1501ms four."
		{"one after the other", four, "500:due 1000:due 1500:due", "begin@1000 begin@1500 begin"},
		{"not before its time", four, "499:due 500:due", "skip@500 begin@1000"},
		{"no fifth", four, "500:due 1000:due 1500:due 2000:due", "begin@1000 begin@1500 begin skip"},
		{"all at once", at0, "0:due 0:due 0:due 0:due", "begin@0 begin@0 begin skip"},

		// 1. "OK: Successful response, cancel previous and pending hedges"
		{"success", four, "500:due 600:ok 1000:due", "begin@1000 counts skip"},
		{"success, then another", four, "500:due 600:ok 601:ok", "begin@1000 counts -"},
		// 2. "Fatal Status Code: Cancel previous and pending hedges"
		{"fatal", four, "500:due 600:fatal 1000:due", "begin@1000 counts skip"},
		// 3. "Immediately send next scheduled hedged request, if any. Subsequent hedged
		// requests will resume at hedgingDelay"
		{"non-fatal", four, "100:nonfatal 100:due 600:due", "-@100 begin@600 begin@1100"},
		{"the last one's failure", Policy{2, time.Second}, "100:nonfatal 100:due 200:nonfatal", "-@100 begin counts"},
		{"another is under way", Policy{2, time.Second}, "1000:due 1100:nonfatal 1200:nonfatal", "begin - counts"},
		{"another is under way, and succeeds", Policy{2, time.Second}, "1000:due 1100:nonfatal 1200:ok", "begin - counts"},
		// 4. "Pushback: Don't Retry: Don't send any more hedged requests."
		{"no more", four, "500:due 600:nomore 1000:due 1100:ok", "begin@1000 - skip counts"},
		{"no more, of the only one", four, "100:nomore", "counts"},
		// 5. "Send next hedged request in n ms. Subsequent hedged requests will resume at
		// n + hedgingDelay"
		{"later", four, "100:later=50 149:due 150:due", "-@150 skip@150 begin@650"},
		{"later than its delay", four, "100:later=5000 500:due 5100:due", "-@5100 skip@5100 begin@5600"},
		{"later, but there are no more", Policy{2, time.Second}, "1000:due 1001:later=5 1100:later=5", "begin - counts"},
		{"later, then a plain failure", four, "500:due 600:later=5000 700:nonfatal", "begin@1000 -@5600 -@700"},

		// "The first outgoing RPC will always be sent, but subsequent hedged RPCs will only
		// be sent if token_count is greater than the threshold."
		{"throttled", four, "500:throttled 1000:due", "skip@1000 begin@1500"},
		{"throttled, none left", four, "100:nonfatal 100:throttled", "-@100 lost"},
		{"throttled to the end", Policy{2, time.Second}, "1000:throttled 1100:nonfatal", "skip counts"},

		// An RPC is committed when it receives response headers.
		{"headers", four, "500:due 600:headers 601:headers 602:ok", "begin@1000 counts - -"},

		// "When an RPC is evicted from the buffer, pending hedged requests should be canceled
		// immediately. [...] ensure that failures are relayed to the client application logic
		// when no more hedged requests will be possible and all outstanding requests have
		// returned."
		{"evicted", four, "500:due 600:close 1000:due 1100:nonfatal 1200:nonfatal", "begin@1000 - skip - counts"},
		{"evicted, none under way", four, "100:later=900 200:close 300:close", "-@1000 lost -"},
		{"evicted after the end", four, "100:ok 200:close", "counts -"},
	} {
		if got := play(t, tt.policy, tt.script); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestAnyOrder plays at random: exactly one attempt counts, or the race is lost; never are
// more begun than may be, and nothing begins afterwards.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		p := Policy{Attempts: 2 + rnd.IntN(4), Delay: time.Duration(rnd.IntN(3)) * time.Second}
		now := time.Unix(0, 0)
		r := Start(p, now)
		begun, open, settled := 1, 1, 0
		for settled == 0 {
			if rnd.IntN(20) == 0 && r.Close() {
				break // lost
			}
			at, ok := r.Next()
			if open == 0 && !ok {
				t.Fatalf("seed %d: nothing is under way, nothing will be, and nothing counts", seed)
			}
			if ok && (open == 0 || rnd.IntN(2) == 0) {
				if now.Before(at) {
					now = at
				}
				switch begin, lost := r.Due(now, rnd.IntN(4) == 0); {
				case begin:
					begun++
					open++
				case lost:
					settled++
				}
			} else if open > 0 {
				open--
				if r.Ended(now, Outcome(rnd.IntN(5)), time.Duration(rnd.IntN(3))*time.Second) {
					settled++
				}
			}
			now = now.Add(time.Duration(rnd.IntN(2000)) * time.Millisecond)
		}
		if begun > p.Attempts || open < 0 {
			t.Errorf("seed %d: %d attempts of %d, %d open", seed, begun, p.Attempts, open)
		}
		if begin, lost := r.Due(now.Add(time.Hour), false); begin || lost {
			t.Errorf("seed %d: an attempt begins after the race", seed)
		}
		if r.Ended(now, Success, 0) || r.Committed() {
			t.Errorf("seed %d: two attempts count", seed)
		}
	}
}
