// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/xxh64"
)

func TestParseConfig(t *testing.T) {
	for _, tt := range []struct {
		js   string
		want *config
	}{
		{`{}`, &config{minSize: 1024, maxSize: 4096}},
		{`{"minRingSize": 10, "maxRingSize": 20}`, &config{minSize: 10, maxSize: 20}},
		{`{"minRingSize": 10}`, &config{minSize: 10, maxSize: 4096}},
		{`{"minRingSize": 5000, "maxRingSize": 6000}`, &config{minSize: 4096, maxSize: 4096}},
		{`{"minRingSize": 8388608, "maxRingSize": 8388608}`, &config{minSize: 4096, maxSize: 4096}},
		{`{"requestHashHeader": "X-User_1.a"}`, &config{minSize: 1024, maxSize: 4096, header: "x-user_1.a"}},
		{`{"minRingSize": 8388609}`, nil},
		{`{"maxRingSize": 8388609}`, nil},
		{`{"maxRingSize": 1000}`, nil}, // below the default minimum
		{`{"minRingSize": 2, "maxRingSize": 1}`, nil},
		{`{"minRingSize": -1}`, nil},
		{`{"requestHashHeader": "user-bin"}`, nil},
		{`{"requestHashHeader": ":path"}`, nil},
		{`{"requestHashHeader": "a b"}`, nil},
		{`{"requestHashHeader": "ü"}`, nil},
		{`[]`, nil},
	} {
		got, err := builder{}.ParseConfig([]byte(tt.js))
		if tt.want == nil {
			if err == nil {
				t.Errorf("%s: %+v, want an error", tt.js, got)
			}
			continue
		}
		if err != nil || *got.(*config) != *tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.js, got, err, tt.want)
		}
	}
}

// Where the variable says so, the policy is not to hash a header: it does not look at it then.
func TestWithoutRequestHash(t *testing.T) {
	if !testutils.InChild(t, "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY=false") {
		return
	}
	for _, header := range []string{"user", "a b"} {
		c, err := builder{}.ParseConfig(fmt.Appendf(nil, `{"requestHashHeader": %q}`, header))
		if err != nil || c.(*config).header != "" {
			t.Errorf("%q: %+v, %v", header, c, err)
		}
	}
}

func TestSizeCap(t *testing.T) {
	for _, tt := range []struct {
		js            string
		size          uint64
		wantMin, want uint64
	}{
		{`{}`, 1, 1, 1},
		{`{}`, 2000, 1024, 2000},
		{`{"minRingSize": 10, "maxRingSize": 20}`, 4096, 10, 20},
		{`{"minRingSize": 4000}`, 6000, 4000, 4096},
		{`{"minRingSize": 5000, "maxRingSize": 9000}`, 6000, 5000, 6000},
		{`{"minRingSize": 5000, "maxRingSize": 8388608}`, 8 << 20, 5000, 8 << 20},
	} {
		c, err := parseConfig([]byte(tt.js), true)
		if err != nil {
			t.Fatal(err)
		}
		c.limit(tt.size)
		if c.minSize != tt.wantMin || c.maxSize != tt.want {
			t.Errorf("%s, limited to %d: %d to %d entries, want %d to %d", tt.js, tt.size, c.minSize, c.maxSize, tt.wantMin, tt.want)
		}
	}
}

func TestRingSize(t *testing.T) {
	for _, tt := range []struct {
		min, max uint64
		weights  []uint64
		counts   []int
	}{
		{4, 100, []uint64{1, 1}, []int{2, 2}},
		{5, 100, []uint64{1, 1}, []int{3, 3}},
		{1, 100, []uint64{1}, []int{1}},
		{10, 100, []uint64{7}, []int{10}},
		{6, 100, []uint64{1, 2, 3}, []int{1, 2, 3}},
		{7, 100, []uint64{1, 2, 3}, []int{2, 4, 6}},
		{1, 100, []uint64{10, 20, 30}, []int{1, 2, 3}},
		{1024, 8, []uint64{1, 1, 2}, []int{2, 2, 4}},
		{1, 100, []uint64{1, 1000}, []int{1, 99}}, // the bound leaves a tenth of a place, which counts as one
		{1, 2, []uint64{1, 1, 1, 1}, []int{1, 0, 1, 0}},
		{1, 8, []uint64{math.MaxUint32, math.MaxUint32}, []int{1, 1}},
	} {
		var members []member
		for i, w := range tt.weights {
			members = append(members, member{fmt.Sprint("m", i), w})
		}
		r := newRing(members, &config{minSize: tt.min, maxSize: tt.max})
		counts := make([]int, len(members))
		for _, i := range r.owners {
			counts[i]++
		}
		if !slices.Equal(counts, tt.counts) {
			t.Errorf("%d to %d of weights %v: %v places, want %v", tt.min, tt.max, tt.weights, counts, tt.counts)
		}
		if !slices.IsSorted(r.hashes) || len(r.hashes) != len(r.owners) {
			t.Errorf("not in order: %v", r)
		}
	}
}

// Other languages place members at the same hashes.
func TestPlaces(t *testing.T) {
	r := newRing([]member{{"10.0.0.1:80", 1}}, &config{minSize: 3, maxSize: 3})
	for _, text := range []string{"10.0.0.1:80_0", "10.0.0.1:80_1", "10.0.0.1:80_2"} {
		hash := xxh64.Sum([]byte(text))
		if !slices.Contains(r.hashes, hash) {
			t.Errorf("nothing at the hash of %q", text)
		}
	}
}

func TestFind(t *testing.T) {
	r := ring{hashes: []uint64{10, 20, 30}}
	for hash, want := range map[uint64]int{0: 0, 9: 0, 10: 0, 11: 1, 20: 1, 21: 2, 30: 2, 31: 0, math.MaxUint64: 0} {
		if got := r.find(hash); got != want {
			t.Errorf("%d: %d, want %d", hash, got, want)
		}
	}
}

func TestFewMoveWhenOneGoes(t *testing.T) {
	var members []member
	for i := range 10 {
		members = append(members, member{fmt.Sprintf("10.0.0.%d:80", i), 1})
	}
	// Each has a hundred places on both rings.
	before := newRing(members, &config{minSize: 1000, maxSize: 4096})
	after := newRing(members[:9], &config{minSize: 900, maxSize: 4096})
	moved, served := 0, make([]int, 10)
	const keys = 10000
	for i := range keys {
		hash := xxh64.Sum(fmt.Appendf(nil, "user %d", i))
		old := before.owner(before.find(hash))
		served[old]++
		if old != 9 && after.owner(after.find(hash)) != old {
			moved++
		}
	}
	if moved > 0 {
		t.Errorf("%d of %d keys moved though their member stays", moved, keys)
	}
	for i, n := range served {
		if n < keys/20 || n > keys/5 {
			t.Errorf("member %d has %d of %d keys", i, n, keys)
		}
	}
}

// TestOrderOfEndpoints: resolvers list endpoints in any order, and the ring is the same.
func TestOrderOfEndpoints(t *testing.T) {
	owners := func(members []member) (keys []string) {
		r := newRing(members, &config{minSize: 1024, maxSize: 4096})
		for _, i := range r.owners {
			keys = append(keys, members[i].key)
		}
		return keys
	}
	members := []member{{"a", 2}, {"b", 3}, {"c", 7}}
	want := owners(members)
	slices.Reverse(members)
	if !slices.Equal(owners(members), want) {
		t.Error("another order makes another ring")
	}
}
